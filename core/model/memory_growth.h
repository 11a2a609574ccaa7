/* Tracks how the memory held at the ends of steps changes, and decides whether it is a leak. */
#ifndef CORE_MEMORY_GROWTH_H
#define CORE_MEMORY_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

enum { GROWTHS_KEPT = 32 }; /* most growths kept */

/* Values over time, such as the memory held after each step. Times are numbered from 1. A growth is
 * a value that is larger than the one before. */
struct memory_trend {
	uint64_t since;			 /* number of values before tracking began */
	int64_t first_bytes, last_bytes; /* value number `since`, and the newest value */
	uint64_t n_up, n_down;		 /* growths, and values smaller than the one before */
	uint64_t up[GROWTHS_KEPT];	 /* numbers of the kept growths */
	int64_t up_bytes[GROWTHS_KEPT];	 /* their values */
	uint32_t n_kept, stride;	 /* every `stride`-th growth is kept */
};

/*
 * Steps are numbered from 1. If batches differ in length, the memory held after a step goes up and
 * down with them, and hides what is added for good. The least memory held in a group of successive
 * steps does not, so its trend is tracked, too.
 */
struct memory_growth {
	struct memory_trend steps, groups;
	int64_t least_bytes; /* least memory held after a step of the current group */
	uint64_t group;	     /* number of the current group, from 1 */
};

/* Begins tracking after `n_steps` steps have ended. All zeros begins before the first step. */
void memory_growth_start(struct memory_growth *g, uint64_t n_steps);

/* Adds step number `step`, which ended with `held_bytes` held. A step without change may be left
 * out. */
void memory_growth_note(struct memory_growth *g, uint64_t step, int64_t held_bytes);

/*
 * Returns whether the memory is a leak: it grows again and again, up to the last of `n_steps`
 * steps, and hardly ever shrinks.
 */
bool memory_growth_is_leak(const struct memory_growth *g, uint64_t n_steps);

/* Returns the growth in bytes per step, of `n_steps` steps. */
double memory_growth_rate(const struct memory_growth *g, uint64_t n_steps);

#endif
