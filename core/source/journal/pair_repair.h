/* Gives calls that the walk left without work the work that it left without a call. */
#ifndef CORE_PAIR_REPAIR_H
#define CORE_PAIR_REPAIR_H

#include "core/source/journal/pair_sides.h"

/* Changes `at` of the groups. Does nothing if calls or work are missing. */
void pair_repair(struct sides *s);

#endif
