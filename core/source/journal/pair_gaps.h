/*
 * Learns by how much CUPTI's numbers grow from one call to the next. Every API call takes one, ours
 * or not, and between the same two pieces of work a program mostly makes the same calls: in
 * PyTorch's traces, 19 times of 20. So where work is missing, the numbers show how many calls it
 * belongs to, even if all kernels are alike.
 */
#ifndef CORE_PAIR_GAPS_H
#define CORE_PAIR_GAPS_H

#include "core/source/journal/pair_sides.h"

/* Fills the calls' expected, n_unknown_steps and sum_lost. */
void gaps_learn(struct sides *s);

/* What is between two pairs. */
struct gap {
	/*
	 * The pair before; PAIR_START if there is none, with the first work that may belong to
	 * these calls.
	 */
	size_t from_i, from_j;
	size_t i, j;
};

#define PAIR_START SIZE_MAX

/*
 * Returns the cost of leaving out what is in the gap, and of the work beginning when it did. 0: the
 * gap is empty, and all is as expected.
 */
uint32_t gap_cost(const struct sides *s, const struct gap *g);

/* The same if numbers say nothing. */
uint32_t gap_length_cost(size_t calls, size_t works);

/*
 * A step costs less than half of what a gap costs to begin: two calls or pieces of work that agree
 * by chance are no reason to end it.
 */
enum {
	COST_STEP = 48,
	COST_NUMBERED = 96,	/* calls without work that the numbers leave room for */
	COST_ODD_NUMBER = 97,	/* an unexpected number */
	COST_RARE_NUMBER = 200, /* the same, where nearly all are as expected */
	COST_MISSING = 160,	/* calls without work; plus a step for each */
	COST_FOREIGN = 160,	/* work without a call; plus a step for each */
	COST_WAITED = 41,	/* work that begins late although the GPU was idle */
	/* As many pieces of work without a call as there are lost records of calls. */
	COST_LOST = 8,
	COST_EARLIER = 8,   /* any amount of work of unrecorded calls */
	FOREIGN_STEPS = 16, /* at most: a library's own launches come by the hundred */
};

#endif
