/*
 * The clock by which a run measures all times. A tick is a cycle of the CPU's time-stamp counter,
 * if the kernel also uses this counter as its clock source. A reading then takes about 10 ns, and
 * the counter is the same in every process. Otherwise a tick is a nanosecond of CLOCK_MONOTONIC.
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

/*
 * Reads the clock. `kind` is an enum journal_clock_kind. The CPU may reorder the reading with
 * instructions around it. The reading is then off by at most a few ns, which is accurate enough for
 * intervals.
 */
static inline uint64_t clock_ticks(uint32_t kind)
{
#if defined(__x86_64__) /* a builtin, because <x86intrin.h> has 50,000 lines to parse */
	if (__builtin_expect(kind == CLOCK_KIND_TSC, 1))
		return __builtin_ia32_rdtsc();
#else
	(void)kind;
#endif
	return clock_read_ns(CLOCK_MONOTONIC);
}

/*
 * Reads the three clocks of a journal_clock_point (core/runtime/record.h) at the same moment. Tries
 * several times and returns the try that took the least time. So a preemption between two readings
 * does not distort the relation of the clocks.
 */
struct journal_clock_point clock_point(uint32_t kind);

#endif
