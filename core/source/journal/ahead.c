/*
 * See ahead.h. Measured on ext4 in a virtual machine:
 * - The library grows the file in 1.4 ms, or in microseconds if the space exists already.
 * - The first write to a page takes 20 us, or 1.4 us if the page was read before, or 0.2 us if it
 *   was made writable before.
 */
#include "core/source/journal/ahead.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SPACE_CHUNKS = 64, /* the library grows the file by as many (core/runtime/journal.c) */
	/* prepare space when this few backed chunks are left; they hold 16,000 calls */
	SPACE_NEAR = 12,
	/* chunks (1 MiB) with prepared pages: at one pass per 5 ms, enough for 4 M calls/s */
	PAGES_AHEAD = 16,
	PAGE_BYTES = 4096,
};

static uint32_t at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

/*
 * Allocates the disk space that the library will need next. The library still calls fallocate() for
 * the same range before it uses it. That call is fast if the space exists.
 */
static void prepare_space(struct ahead *a, const struct reader *r, uint32_t backed)
{
	uint32_t end = at_most(backed + SPACE_CHUNKS, r->n_chunks);
	if (r->n_reached + SPACE_NEAR < backed || a->spaced >= end)
		return;
	/* without KEEP_SIZE, a file that was truncated would get its size back, with zeros */
	int error = fallocate(r->fd, FALLOC_FL_KEEP_SIZE,
			      (off_t)(r->chunks_offset + (uint64_t)backed * r->chunk_bytes),
			      (off_t)(end - backed) * r->chunk_bytes);
	a->spaced = error ? UINT32_MAX : end;
}

/*
 * Makes the pages present and writable, without changing a byte, so that no first write waits for
 * the file system.
 */
static bool make_writable(int fd, off_t offset, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (p == MAP_FAILED)
		return false;
	bool is_done = !madvise(p, bytes, MADV_POPULATE_WRITE);
	munmap(p, bytes);
	return is_done;
}

/*
 * For Linux before 5.14, which lacks MADV_POPULATE_WRITE. Reads a byte of each page. That brings
 * the page into memory, which makes the first write to it faster.
 */
static bool make_readable(int fd, off_t offset, size_t bytes)
{
	uint8_t byte;
	for (size_t at = 0; at < bytes; at += PAGE_BYTES)
		if (pread(fd, &byte, 1, offset + (off_t)at) != 1)
			return false;
	return true;
}

/* Skips chunks that have been used: their pages exist. */
static void prepare_pages(struct ahead *a, const struct reader *r, uint32_t backed)
{
	uint32_t end = at_most(r->n_reached + PAGES_AHEAD, backed);
	size_t bytes = r->chunk_bytes;
	if (a->touched < r->n_reached)
		a->touched = r->n_reached;
	for (; a->touched < end; a->touched++) {
		off_t offset = (off_t)(r->chunks_offset + (uint64_t)a->touched * bytes);
		if (!make_writable(r->fd, offset, bytes) && !make_readable(r->fd, offset, bytes))
			return;
	}
}

void ahead_prepare(struct ahead *a, const struct reader *r)
{
	uint32_t backed = at_most(
		atomic_load_explicit(&r->header->chunks_backed, memory_order_acquire), r->n_chunks);
	if (!r->n_reached || r->is_truncated)
		return;
	prepare_space(a, r, backed);
	prepare_pages(a, r, backed);
}
