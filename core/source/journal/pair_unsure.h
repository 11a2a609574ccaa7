/* Removes pairs that are ambiguous. */
#ifndef CORE_PAIR_UNSURE_H
#define CORE_PAIR_UNSURE_H

#include "core/source/journal/pair_sides.h"

/*
 * Among calls that all ask for the same, a hole (missing calls or missing work) could be at another
 * place at the same cost. Unpairs all work that would then have another call. A whole iteration of
 * a loop is not such a hole: it is where calls are not recorded. Expects pair_align()'s result:
 * calls and work in the same order.
 */
void pair_drop_unsure(struct sides *s);

#endif
