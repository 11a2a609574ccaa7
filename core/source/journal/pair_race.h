/* Pairs the calls of several threads that overlap in time with their work. */
#ifndef CORE_PAIR_RACE_H
#define CORE_PAIR_RACE_H

#include "core/source/journal/pair_sides.h"

/* Sets `at` of the groups. */
void pair_race(struct sides *s);

#endif
