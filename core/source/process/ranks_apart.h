/*
 * Finds the difference between the numbers that two ranks give the same step. Ranks that train
 * together are in the same step most of the time; sometimes one of them is a step ahead. So their
 * current step numbers are compared repeatedly during several steps, and the most frequent
 * difference is the result.
 */
#ifndef CORE_RANKS_APART_H
#define CORE_RANKS_APART_H

#include <stdbool.h>
#include <stdint.h>

/* Differences farther than this from the first one are not counted. */
#define RANKS_APART_MOST 8

struct ranks_apart {
	uint64_t of;   /* the caller's id for this pair of numberings; another id starts over */
	int64_t first; /* number - other in the first comparison */
	uint64_t from; /* `other` in the first comparison */
	unsigned n, seen[2 * RANKS_APART_MOST + 1];
};

/*
 * Adds a comparison: at the same moment one rank is in step `number`, the other in step `other`.
 * Returns whether there are enough comparisons for a result.
 */
bool ranks_apart_look(struct ranks_apart *a, uint64_t of, uint64_t number, uint64_t other);

/* Returns the most frequent value of number - other. */
int64_t ranks_apart(const struct ranks_apart *a);

#endif
