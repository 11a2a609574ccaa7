/*
 * How far apart two ranks number the same step. Ranks that train together are in the same step most of the time, so the numbers of what
 * is under way in both, looked at again and again for some steps, differ by that most often; now and then one of them is a step ahead.
 */
#ifndef CORE_RANKS_APART_H
#define CORE_RANKS_APART_H

#include <stdbool.h>
#include <stdint.h>

/* As far as this from the difference that was seen first it is told. */
#define RANKS_APART_MOST 8

struct ranks_apart {
	uint64_t of;   /* what the caller has them of: with another one all begins anew */
	int64_t first; /* difference */
	uint64_t from; /* the other's number then */
	unsigned n, seen[2 * RANKS_APART_MOST + 1];
};

/* `number` and `other` are under way at the same moment. True: it has been seen often enough. */
bool ranks_apart_look(struct ranks_apart *a, uint64_t of, uint64_t number, uint64_t other);

/* The most frequent one of number - other. */
int64_t ranks_apart(const struct ranks_apart *a);

#endif
