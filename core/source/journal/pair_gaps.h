/*
 * Learns by how much CUPTI's correlation ids grow from one recorded call to the next. Every API
 * call takes one id, recorded or not. Between the same two pieces of work a program mostly makes
 * the same calls: in PyTorch's traces, 19 times of 20. So where work is missing, the ids show how
 * many calls it belongs to, even if all kernels are alike.
 */
#ifndef CORE_PAIR_GAPS_H
#define CORE_PAIR_GAPS_H

#include "core/source/journal/pair_sides.h"

/* Fills `expected`, `n_unknown_steps` and `sum_lost` of the calls. */
void gaps_learn(struct sides *s);

/* The calls and work between two pairs. */
struct gap {
	/*
	 * The pair before the gap. Without one, from_i is PAIR_START and from_j is the first work
	 * that may belong to these calls.
	 */
	size_t from_i, from_j;
	size_t i, j;
};

#define PAIR_START SIZE_MAX

/*
 * Returns the cost of leaving the gap's calls and work unpaired, and of the time at which the work
 * after it began. 0: the gap is empty, and ids and times are as expected.
 */
uint32_t gap_cost(const struct sides *s, const struct gap *g);

/* The same without using ids. */
uint32_t gap_length_cost(size_t calls, size_t works);

/*
 * A step costs less than half as much as a new gap. So two calls or pieces of work that agree by
 * chance do not end a gap.
 */
enum {
	COST_STEP = 48,
	COST_NUMBERED = 96,	/* calls without work that the ids leave room for */
	COST_ODD_NUMBER = 97,	/* an unexpected id */
	COST_RARE_NUMBER = 200, /* the same, if nearly all ids are as expected */
	COST_MISSING = 160,	/* calls without work; plus a step for each */
	COST_FOREIGN = 160,	/* work without a call; plus a step for each */
	COST_WAITED = 41,	/* work that begins late although the GPU was idle */
	/* up to one piece of work without a call for each lost record of a call */
	COST_LOST = 8,
	COST_EARLIER = 8,   /* work of unrecorded calls, any amount */
	FOREIGN_STEPS = 16, /* at most: a library makes hundreds of launches of its own */
};

#endif
