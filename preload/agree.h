/*
 * Makes all ranks of one job record the same steps. A rank that has detected its steps does not
 * start its schedule at once. It waits until the job's collector has chosen a start step for all
 * ranks (core/runtime/record.h, struct journal_steps). Only the thread that crosses a step boundary
 * calls these functions.
 */
#ifndef PRELOAD_AGREE_H
#define PRELOAD_AGREE_H

#include "core/runtime/record.h"

#include <stdbool.h>

struct agree {
	bool waits;			  /* this rank waits for the common start step */
	uint32_t asked;			  /* how often agree_begin() was called */
	uint64_t until_ticks, until_step; /* the wait ends when both have passed */
};

/*
 * Starts to wait for a common start step and asks the collector to choose one. `current` is the
 * step under way, `kind` says which steps were detected. Replaces an earlier wait.
 */
void agree_begin(struct agree *a, struct journal_steps *shared, enum start_of kind,
		 uint64_t current);

/*
 * Returns whether the wait is over. Called when step `number` begins at `ticks`. When the wait is
 * over, sets `*start` to the step at which the schedule's first recorded step falls in all ranks.
 * If the collector has not chosen one in time, sets `*start` to `number` and logs a warning.
 */
bool agree_is_over(struct agree *a, struct journal_steps *shared, uint64_t number, uint64_t ticks,
		   uint64_t *start);

#endif
