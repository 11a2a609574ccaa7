/*
 * Converts a journal's ticks to CLOCK_MONOTONIC nanoseconds, linearly between the journal's first
 * clock point and the newest one available: the journal's closing one, or this machine's clock if
 * it is still the same boot.
 */
#ifndef CORE_TIMEBASE_H
#define CORE_TIMEBASE_H

#include "core/runtime/record.h"

#include <stdbool.h>

struct timebase {
	struct journal_clock_point first;
	uint32_t kind;
	/* no second point was available: the order is right, durations assume 2.5 GHz */
	bool is_estimate;
	uint64_t ns_per_tick_q48; /* fixed point, 48 bits of fraction */
	uint64_t ticks_per_second;
};

/* `is_alive`: the process still runs, so this machine's clocks are valid for the journal. */
void timebase_set(struct timebase *t, const struct journal_header *h, bool is_alive);

static inline uint64_t timebase_ns(const struct timebase *t, uint64_t ticks)
{
	if (ticks >= t->first.ticks)
		return t->first.monotonic_ns +
		       (uint64_t)((unsigned __int128)(ticks - t->first.ticks) *
					  t->ns_per_tick_q48 >>
				  48);
	uint64_t before =
		(uint64_t)((unsigned __int128)(t->first.ticks - ticks) * t->ns_per_tick_q48 >> 48);
	return t->first.monotonic_ns > before ? t->first.monotonic_ns - before : 0;
}

/* Converts a duration from ticks to nanoseconds. */
static inline uint64_t timebase_length_ns(const struct timebase *t, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * t->ns_per_tick_q48 >> 48);
}

/* Converts a duration from nanoseconds to ticks. */
static inline uint64_t timebase_ticks(const struct timebase *t, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * t->ticks_per_second / 1000000000u);
}

#endif
