/*
 * Pairing by order if the journal was full. Then calls and GPU records are missing, and the gaps do
 * not meet: CUPTI delivers the work of a call long after the call.
 */
#ifndef CORE_PAIR_DROPPED_H
#define CORE_PAIR_DROPPED_H

#include "core/source/journal/pair_sides.h"

/*
 * Pairs the parts of both sequences in which nothing is missing, each with `pair`. Appends the
 * calls whose work was dropped to `without`.
 */
void pair_around_dropped(struct sides *s, void (*pair)(struct sides *), pair_withouts *without);

#endif
