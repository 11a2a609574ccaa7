/*
 * The step that several ranks which are asked at once can all record, though each hears of it in its own time. Ranks are looked at twice, a moment
 * apart.
 */
#ifndef EXPORT_RANKS_MEET_H
#define EXPORT_RANKS_MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rank_look {
	bool was_one,
		is_one; /* whose steps have the numbers that they have in all, at the first look and at the second */
	uint64_t then, now; /* its step */
};

/* A little ahead of the foremost. 0: each begins when it hears of it. */
uint64_t ranks_meet(const struct rank_look *ranks, size_t n);

#endif
