/*
 * Calls that make no GPU work take CUPTI's numbers, too. If such a call of another thread is active
 * between two calls with work, it may or may not have taken a number in between.
 */
#ifndef CORE_PAIR_BETWEEN_H
#define CORE_PAIR_BETWEEN_H

#include "core/source/journal/pair_sides.h"

/*
 * Sets `is_disturbed` of the calls in `s`, which must be sorted by start. `waits` says whether a
 * call waits for the GPU. A wait takes its number when it begins.
 */
void pair_note_disturbed(struct sides *s,
			 bool (*waits)(const void *context, const struct rec_call *call),
			 const void *context);

#endif
