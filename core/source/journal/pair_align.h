/*
 * Aligns calls with work for threads whose calls do not overlap: finds what is missing on either
 * side.
 */
#ifndef CORE_PAIR_ALIGN_H
#define CORE_PAIR_ALIGN_H

#include "core/source/journal/pair_sides.h"

/* Fills the groups' `at`. Leaves out pairs that could as well be one place further. */
void pair_align(struct sides *s);

#endif
