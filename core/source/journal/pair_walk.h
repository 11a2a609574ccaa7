/* Pairs calls that several threads make at the same moment with their work. */
#ifndef CORE_PAIR_WALK_H
#define CORE_PAIR_WALK_H

#include "core/source/journal/pair_sides.h"

/* Fills the groups' `at`. */
void pair_walk(struct sides *s);

#endif
