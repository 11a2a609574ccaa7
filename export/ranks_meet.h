/* Chooses a step that several ranks can all record after one request, although each rank receives
 * the request at a different time. The caller reads the ranks' steps twice, a moment apart. */
#ifndef EXPORT_RANKS_MEET_H
#define EXPORT_RANKS_MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rank_look {
	bool was_one, is_one; /* its steps have the numbers that all ranks share, at the first
			       * and second look */
	uint64_t then, now;   /* number of its current step at the first and second look */
};

/* Returns a step a little ahead of the fastest rank. Returns 0 if the ranks have no common step;
 * then each rank starts when it receives the request. */
uint64_t ranks_meet(const struct rank_look *ranks, size_t n);

#endif
