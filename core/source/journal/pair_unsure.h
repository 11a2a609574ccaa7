/* What might as well be otherwise is not said. */
#ifndef CORE_PAIR_UNSURE_H
#define CORE_PAIR_UNSURE_H

#include "core/source/journal/pair_sides.h"

/*
 * Among calls that all ask for the same a hole, on either side, could lie at another place at the same cost: takes the calls away from all
 * work that would have another one then. A whole iteration of a loop is no such hole: it is where calls are not recorded. For what pair_align found: calls and work in the same order.
 */
void pair_drop_unsure(struct sides *s);

#endif
