/*
 * Converts a journal's ticks to nanoseconds of CLOCK_MONOTONIC. The conversion is linear between
 * two clock points: the journal's first one and the newest one available. That is the journal's
 * closing clock point, or this machine's clock now if the machine has not been rebooted since.
 */
#ifndef CORE_TIMEBASE_H
#define CORE_TIMEBASE_H

#include "core/runtime/record.h"

#include <stdbool.h>

struct timebase {
	struct journal_clock_point first;
	uint32_t kind;
	/*
	 * There was no second clock point. The order of times is right, but durations assume 2.5
	 * GHz.
	 */
	bool is_estimate;
	uint64_t ns_per_tick_q48; /* fixed point, 48 bits of fraction */
	uint64_t ticks_per_second;
};

/*
 * Sets the conversion for a journal. `is_alive`: its process still runs, so this machine's clocks
 * apply.
 */
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
