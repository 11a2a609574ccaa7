/*
 * Ticks of a journal to CLOCK_MONOTONIC nanoseconds, as one line through the journal's first clock point and the newest
 * one that can be had: the closing one, or this machine's own where it is still the same boot.
 */
#ifndef CORE_TIMEBASE_H
#define CORE_TIMEBASE_H

#include "core/runtime/record.h"

#include <stdbool.h>

struct timebase {
	struct journal_clock_point first;
	uint32_t kind;
	bool is_estimate; /* no second point could be had: the order is right, lengths are a guess (2.5 GHz) */
	uint64_t ns_per_tick_q48; /* fixed point, 48 bits of fraction */
	uint64_t ticks_per_second;
};

/* `is_alive`: the process still runs, so this machine's clocks are the journal's. */
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

/* A length in ticks as nanoseconds. */
static inline uint64_t timebase_length_ns(const struct timebase *t, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * t->ns_per_tick_q48 >> 48);
}

/* A length in nanoseconds as ticks. */
static inline uint64_t timebase_ticks(const struct timebase *t, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * t->ticks_per_second / 1000000000u);
}

#endif
