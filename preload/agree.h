/*
 * Ranks of one job take the same steps: who knows its steps does not begin with its schedule at once, but with the step that the
 * collector of them all names (core/runtime/record.h, struct journal_steps). Used by the thread that crosses a boundary.
 */
#ifndef PRELOAD_AGREE_H
#define PRELOAD_AGREE_H

#include "core/runtime/record.h"

#include <stdbool.h>

struct agree {
	bool waits;
	uint32_t asked;			  /* how often it was begun */
	uint64_t until_ticks, until_step; /* no longer than both */
};

/* Steps are known as of now, `current` is under way. If others were waited for already, it is for these now. */
void agree_begin(struct agree *a, struct journal_steps *shared, enum start_of of, uint64_t current);

/*
 * A step that is number `number` begins at `ticks`: whether the waiting is over, and then the step that the schedule's first recorded
 * one becomes in all ranks. Where nobody named one in time it is this one.
 */
bool agree_is_over(struct agree *a, struct journal_steps *shared, uint64_t number, uint64_t ticks,
		   uint64_t *start);

#endif
