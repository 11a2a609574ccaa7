/* One walk over calls of several threads that overlap in time, and over their work. */
#ifndef CORE_PAIR_WALK_H
#define CORE_PAIR_WALK_H

#include "core/source/journal/pair_sides.h"

/* Sets `at` of the groups, which have no calls yet. */
void pair_walk(struct sides *s);

#endif
