/* Calls and work of threads that take turns: what is left out of either side, and nothing else, is to be found. */
#ifndef CORE_PAIR_ALIGN_H
#define CORE_PAIR_ALIGN_H

#include "core/source/journal/pair_sides.h"

/* Fills the groups' `at`. Pairs that might as well lie one place further are left out. */
void pair_align(struct sides *s);

#endif
