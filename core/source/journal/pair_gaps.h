/*
 * How much CUPTI's numbers grow from a call to the next. Every call of the API takes one, ours or not, and between the same two
 * pieces of work a program makes mostly the same calls: in PyTorch's traces 19 times of 20. So where work is missing, the numbers say how
 * many calls' it is, though all kernels are alike.
 */
#ifndef CORE_PAIR_GAPS_H
#define CORE_PAIR_GAPS_H

#include "core/source/journal/pair_sides.h"

/* Fills the calls' expected, unsaid and losses. */
void gaps_learn(struct sides *s);

/* Between what is paired: the work before and behind it, or where there is none yet. */
struct gap {
	size_t from_i,
		from_j; /* the pair before; PAIR_START: there is none, and the first work that may be of these calls */
	size_t i, j;
};

#define PAIR_START SIZE_MAX

/* What it costs to leave out what lies between, and that the work began where it did; 0: nothing does, and all is as expected. */
uint32_t gap_cost(const struct sides *s, const struct gap *g);

/* The same, where nothing is said of numbers. */
uint32_t gap_length_cost(size_t calls, size_t works);

/* A step is less than half of what it costs to begin leaving out: two calls or pieces of work that agree by chance are no reason to stop. */
enum {
	COST_STEP = 48,
	COST_NUMBERED = 96,	/* calls without work, which the numbers leave room for */
	COST_ODD_NUMBER = 97,	/* a number that is not the expected one */
	COST_RARE_NUMBER = 200, /* likewise, where nearly all are as expected */
	COST_MISSING = 160,	/* calls without work; and so many steps as there are */
	COST_FOREIGN = 160,	/* likewise work without a call */
	COST_WAITED = 41,	/* work that begins late though the GPU had nothing to do */
	COST_LOST = 8,	  /* as many pieces of work without a call as records of calls were lost */
	COST_EARLIER = 8, /* work, however much, of calls that were not recorded */
	FOREIGN_STEPS = 16, /* at most: a library's own launches come by the hundred */
};

#endif
