/*
 * See ahead.h. Measured on ext4, in a virtual machine: the library's own growing takes 1.4 ms a time without this, microseconds with it;
 * the first write to a page 20 us, 1.4 us where the page was only read before, 0.2 us where it was made writable.
 */
#include "core/source/journal/ahead.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SPACE_CHUNKS = 64, /* what the library takes at a time (core/runtime/journal.c) */
	SPACE_NEAR = 12,   /* so few backed ones left: 16,000 calls */
	PAGES_AHEAD = 16,  /* 1 MiB: at 5 ms a poll, enough for 4 million calls a second */
	PAGE_BYTES = 4096,
};

static uint32_t at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

/* The library asks for the same space itself before it uses it: that it is there already makes its asking cheap. */
static void prepare_space(struct ahead *a, const struct reader *r, uint32_t backed)
{
	uint32_t end = at_most(backed + SPACE_CHUNKS, r->n_chunks);
	if (r->n_reached + SPACE_NEAR < backed || a->spaced >= end)
		return;
	int error = fallocate(
		r->fd, 0,
		(off_t)(r->header->chunks_offset + (uint64_t)backed * r->header->chunk_bytes),
		(off_t)(end - backed) * r->header->chunk_bytes);
	a->spaced = error ? UINT32_MAX : end;
}

/* In memory and ready to be written to, so that no page of it has to wait for the file system; no byte is touched. */
static bool make_writable(int fd, off_t offset, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (p == MAP_FAILED)
		return false;
	bool is_done = !madvise(p, bytes, MADV_POPULATE_WRITE);
	munmap(p, bytes);
	return is_done;
}

/* Before Linux 5.14: reading a byte makes its page, which the first write to it finds. */
static bool make_readable(int fd, off_t offset, size_t bytes)
{
	uint8_t byte;
	for (size_t at = 0; at < bytes; at += PAGE_BYTES)
		if (pread(fd, &byte, 1, offset + (off_t)at) != 1)
			return false;
	return true;
}

/* A chunk that has been used before has its pages. */
static void prepare_pages(struct ahead *a, const struct reader *r, uint32_t backed)
{
	uint32_t end = at_most(r->n_reached + PAGES_AHEAD, backed);
	size_t bytes = r->header->chunk_bytes;
	if (a->touched < r->n_reached)
		a->touched = r->n_reached;
	for (; a->touched < end; a->touched++) {
		off_t offset = (off_t)(r->header->chunks_offset + (uint64_t)a->touched * bytes);
		if (!make_writable(r->fd, offset, bytes) && !make_readable(r->fd, offset, bytes))
			return;
	}
}

void ahead_prepare(struct ahead *a, const struct reader *r)
{
	uint32_t backed = at_most(
		atomic_load_explicit(&r->header->chunks_backed, memory_order_acquire), r->n_chunks);
	if (!r->n_reached)
		return;
	prepare_space(a, r, backed);
	prepare_pages(a, r, backed);
}
