/*
 * The one clock of a run. Ticks are the time-stamp counter where the kernel itself trusts it (about
 * 10 ns per reading, the same in every process), else CLOCK_MONOTONIC nanoseconds.
 */
#ifndef CORE_CLOCK_H
#define CORE_CLOCK_H

#include "core/runtime/kinds.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Returns whether the time-stamp counter is invariant and the kernel uses it as its clock source.
 * Reads a file; call it once per process. */
bool clock_tsc_usable(void);

static inline uint64_t clock_read_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ms(void)
{
	return clock_read_ns(CLOCK_MONOTONIC) / 1000000;
}

/* `kind` is an enum journal_clock_kind. Not serializing: a reading is off by at most a few ns, good
 * enough for intervals. */
static inline uint64_t clock_ticks(uint32_t kind)
{
#if defined(__x86_64__) /* The builtin, because <x86intrin.h> is 50,000 lines to parse. */
	if (__builtin_expect(kind == CLOCK_KIND_TSC, 1))
		return __builtin_ia32_rdtsc();
#else
	(void)kind;
#endif
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* Reads the three clocks of a point (core/runtime/record.h) at one moment. Keeps the tightest of
 * several tries, so that a preemption does not distort the slope. */
struct journal_clock_point clock_point(uint32_t kind);

#endif
