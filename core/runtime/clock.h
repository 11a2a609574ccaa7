/*
 * The one clock of a run. Ticks are the time-stamp counter where the kernel itself trusts it (about 10 ns a reading, the
 * same in every process), else CLOCK_MONOTONIC nanoseconds.
 */
#ifndef CORE_CLOCK_H
#define CORE_CLOCK_H

#include "core/runtime/record.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Whether the kernel's clock source is the time-stamp counter and it never stops. Reads a file: once per process. */
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

/* `kind` is enum journal_clock_kind. Ordered enough for intervals: a reading never moves by more than a few ns. */
static inline uint64_t clock_ticks(uint32_t kind)
{
#if defined(__x86_64__)
	if (__builtin_expect(kind == CLOCK_KIND_TSC, 1))
		return __rdtsc();
#else
	(void)kind;
#endif
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* The three clocks at one moment: the tightest of several tries, so a preemption does not tilt the slope. */
struct journal_clock_point clock_point(uint32_t kind);

#endif
