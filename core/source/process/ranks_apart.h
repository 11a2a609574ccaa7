/*
 * Finds the difference between two ranks' numbers of the same step. Ranks that train together are
 * in the same step most of the time; sometimes one of them is a step ahead. So their current step
 * numbers are compared repeatedly over some steps, and the most frequent difference is the result.
 */
#ifndef CORE_RANKS_APART_H
#define CORE_RANKS_APART_H

#include <stdbool.h>
#include <stdint.h>

/* Only differences this close to the first one are counted. */
#define RANKS_APART_MOST 8

struct ranks_apart {
	uint64_t of;   /* the caller's id of what is compared; a new one starts over */
	int64_t first; /* the first difference */
	uint64_t from; /* `other` of the first comparison */
	unsigned n, seen[2 * RANKS_APART_MOST + 1];
};

/*
 * Adds a comparison: the ranks are in steps `number` and `other` at the same moment. Returns
 * whether there are enough comparisons.
 */
bool ranks_apart_look(struct ranks_apart *a, uint64_t of, uint64_t number, uint64_t other);

/* Returns the most frequent value of number - other. */
int64_t ranks_apart(const struct ranks_apart *a);

#endif
