/*
 * Makes all ranks of one job record the same steps. A rank that knows its steps does not start its
 * schedule at once. It waits for the start step that the job's collector names
 * (core/runtime/record.h, struct journal_steps). Used only by the thread that crosses a boundary.
 */
#ifndef PRELOAD_AGREE_H
#define PRELOAD_AGREE_H

#include "core/runtime/record.h"

#include <stdbool.h>

struct agree {
	bool waits;
	uint32_t asked;			  /* number of agree_begin() calls */
	uint64_t until_ticks, until_step; /* waiting ends when both have passed */
};

/*
 * Begins to wait: steps are known now, and step `current` is under way. Replaces a wait that was
 * begun before.
 */
void agree_begin(struct agree *a, struct journal_steps *shared, enum start_of kind,
		 uint64_t current);

/*
 * Returns whether the wait is over when step `number` begins at `ticks`. If so, sets `*start` to
 * the step at which the schedule's first recorded step falls in all ranks, or to `number` if the
 * collector named none in time.
 */
bool agree_is_over(struct agree *a, struct journal_steps *shared, uint64_t number, uint64_t ticks,
		   uint64_t *start);

#endif
