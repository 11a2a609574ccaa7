/* Removes ambiguous pairs of calls and GPU work. */
#ifndef CORE_PAIR_UNSURE_H
#define CORE_PAIR_UNSURE_H

#include "core/source/journal/pair_sides.h"

/*
 * Unpairs work whose call is ambiguous. Among calls that all ask for the same thing, a hole
 * (missing calls or missing work) could lie at another place at the same cost. All work that would
 * then have another call is unpaired. A whole loop iteration that is missing does not count as a
 * hole: its calls were not recorded. Expects the result of pair_align(), where calls and work are
 * in the same order.
 */
void pair_drop_unsure(struct sides *s);

#endif
