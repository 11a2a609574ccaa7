/*
 * Finds the work of the call during which CUPTI was switched on, where CUPTI records calls: it has
 * no record of a call whose outer function was entered before. This happens if a statically linked
 * runtime (cuBLAS has one) is hooked at the driver function within.
 */
#ifndef CORE_PAIR_FIRST_H
#define CORE_PAIR_FIRST_H

#include "core/source/journal/pair.h"

/* `on_ticks`: when CUPTI was switched on. Adds to pair_match()'s answers. */
void pair_first(const struct pair_input *in, uint64_t on_ticks, uint32_t *call_of);

#endif
