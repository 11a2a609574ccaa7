/*
 * Chooses a step that several ranks can all record after one request, although each receives the
 * request at a different time. The caller looks at the ranks twice, a moment apart.
 */
#ifndef EXPORT_RANKS_MEET_H
#define EXPORT_RANKS_MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rank_look {
	bool was_one, is_one; /* its steps have the numbers that all ranks share, at each look */
	uint64_t then, now;   /* its step at each look */
};

/* Returns a step a little ahead of the fastest rank, or 0: each starts when the request arrives. */
uint64_t ranks_meet(const struct rank_look *ranks, size_t n);

#endif
