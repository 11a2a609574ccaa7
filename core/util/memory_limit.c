/* See memory_limit.h. */
#include "core/util/memory_limit.h"

#include "core/runtime/clock.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ASK_EVERY_MS = 10, TRIM_EVERY_MS = 500 };

static struct {
	uint64_t bytes, asked_ms, trimmed_ms;
	bool is_near;
} limit;

void memory_limit_set(uint64_t bytes)
{
	limit.bytes = bytes;
}

/* Returns how much memory is resident; 0: not known, because there is no /proc. */
static uint64_t resident_bytes(void)
{
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	unsigned long long pages = 0;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%*u %llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool memory_limit_is_near(void)
{
	if (!limit.bytes)
		return false;
	uint64_t now_ms = clock_ms();
	if (now_ms - limit.asked_ms < ASK_EVERY_MS)
		return limit.is_near;
	limit.asked_ms = now_ms;
	limit.is_near = resident_bytes() > limit.bytes / 2;
	if (limit.is_near && now_ms - limit.trimmed_ms >= TRIM_EVERY_MS) {
		malloc_trim(0); /* what was freed is still resident */
		limit.trimmed_ms = now_ms;
		limit.is_near = resident_bytes() > limit.bytes / 2;
	}
	return limit.is_near;
}

uint64_t memory_limit_part(unsigned share)
{
	return limit.bytes ? limit.bytes / share : UINT64_MAX;
}
