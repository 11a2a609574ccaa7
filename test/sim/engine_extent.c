/*
 * Which device memory contains the application's own bytes. Kernels compute nothing here, so memory
 * that a kernel may have written must read as zeros, but data that the application copied in must
 * come back.
 *
 * Copies and memsets leave extents. A read returns an extent's bytes in two cases: no kernel was
 * launched since the extent was written, or the read takes whole extents and nothing else. All
 * other bytes read as zeros. A tensor that was copied in therefore survives kernels, and a scalar
 * that a kernel "computed" in recycled memory is zero instead of stale.
 */
#include "test/sim/engine.h"

struct extent {
	struct range range;
	/* number of kernels launched in the context when the extent was written */
	uint64_t kernels;
};

static struct range *extents;

static void extent_add(uintptr_t address, size_t bytes, uint64_t kernels)
{
	struct extent *e = malloc(sizeof(*e));
	*e = (struct extent){ .range = { .start = address, .bytes = bytes }, .kernels = kernels };
	range_insert(&extents, &e->range);
}

/* Removes the range from all extents that overlap it. */
void extent_forget(uintptr_t address, size_t bytes)
{
	uintptr_t end = address + bytes;
	for (;;) {
		struct extent *e = (struct extent *)range_after(extents, address);
		if (!e || e->range.start >= end)
			return;
		uintptr_t from = e->range.start, to = from + e->range.bytes;
		uint64_t kernels = e->kernels;
		range_remove(&extents, &e->range);
		free(e);
		if (from < address)
			extent_add(from, address - from, kernels);
		if (to > end)
			extent_add(end, to - end, kernels);
	}
}

void extent_write(uintptr_t address, size_t bytes, uint64_t kernels)
{
	extent_forget(address, bytes);
	if (bytes)
		extent_add(address, bytes, kernels);
}

/* Returns whether whole, adjacent extents cover exactly the range from `from` to `from + bytes`. */
static bool extent_tiles(uintptr_t from, size_t bytes)
{
	uintptr_t at = from;
	while (at < from + bytes) {
		struct range *r = range_find(extents, at);
		if (!r || r->start != at)
			return false;
		at = r->start + r->bytes;
	}
	return at == from + bytes;
}

bool extent_read(void *to, uintptr_t from, size_t bytes, uint64_t kernels)
{
	pthread_mutex_lock(&engine_lock);
	bool all = extent_tiles(from, bytes), any = all;
	if (!all)
		memset(to, 0, bytes);
	for (uintptr_t at = from; !all && at < from + bytes;) {
		struct extent *e = (struct extent *)range_after(extents, at);
		if (!e || e->range.start >= from + bytes)
			break;
		uintptr_t start = e->range.start > at ? e->range.start : at;
		uintptr_t end = e->range.start + e->range.bytes;
		if (end > from + bytes)
			end = from + bytes;
		if (e->kernels == kernels) {
			memcpy((char *)to + (start - from), (void *)start, end - start);
			any = true;
		}
		at = end;
	}
	pthread_mutex_unlock(&engine_lock);
	if (all)
		memcpy(to, (void *)from, bytes);
	return any;
}

/* Reads device memory; bytes that no copy wrote as a whole are zeros. Call without engine_lock. */
void engine_device_read(void *to, const void *from, size_t bytes)
{
	extent_read(to, (uintptr_t)from, bytes, UINT64_MAX);
}

void engine_device_write(void *to, const void *from, size_t bytes)
{
	if (from)
		memcpy(to, from, bytes);
	pthread_mutex_lock(&engine_lock);
	if (from)
		extent_write((uintptr_t)to, bytes, 0);
	else
		extent_forget((uintptr_t)to, bytes);
	pthread_mutex_unlock(&engine_lock);
}
