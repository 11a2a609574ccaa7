/*
 * Aligns calls that do not overlap in time with GPU work, and finds what is missing on either side.
 */
#ifndef CORE_PAIR_ALIGN_H
#define CORE_PAIR_ALIGN_H

#include "core/source/journal/pair_sides.h"

/* Sets `at` of the groups. Leaves work unpaired if another call would fit nearly as well. */
void pair_align(struct sides *s);

#endif
