/* Keeps the times of all steps of a run in order, whether or not a step is recorded. */
#ifndef CORE_BASELINE_H
#define CORE_BASELINE_H

#include "core/util/sample.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * BASELINE_KEPT step times take 4 MB. If a run has more steps, its first BASELINE_ORDERED times are
 * kept in order, and the remaining places hold a random sample of the later times.
 */
enum { BASELINE_KEPT = 1000000, BASELINE_ORDERED = 10000 };

enum { BASELINE_LONGEST = 64 };

enum { BASELINE_RECENT = 64 }; /* step times that are kept of the newest steps */

/* One of the longest steps. */
struct baseline_long {
	uint64_t number; /* of the step */
	uint64_t place;	 /* how many steps were added before it */
	float ms;
};

struct baseline {
	VEC(float) ms;	/* step times in milliseconds */
	uint64_t n;	/* steps added */
	uint64_t first; /* number of the first step added */
	/* The BASELINE_LONGEST longest steps, longest first. */
	struct baseline_long longest[BASELINE_LONGEST];
	size_t n_longest;
	float recent_ms
		[BASELINE_RECENT]; /* a ring; the newest time is at (n - 1) % BASELINE_RECENT */
	uint64_t random;	   /* state of sample_next_random() */
	/* time of step 0, which includes the start-up and is not in `ms` or `n`; 0: unknown */
	double first_ms;
	uint64_t last_recorded; /* value of `n` after the last recorded step; 0: no step recorded */
};

/* Appends the time of step `number`, which has ended. Steps must be added in order. */
void baseline_add(struct baseline *b, uint64_t number, double ms, bool is_recorded);
void baseline_free(struct baseline *b);

#endif
