/*
 * Finds the work of the call during which CUPTI was switched on, if CUPTI records calls. CUPTI has
 * no record of a call whose outermost function was entered before. This happens with a statically
 * linked runtime (cuBLAS has one): the hook is at the driver function that the runtime's function
 * calls.
 */
#ifndef CORE_PAIR_FIRST_H
#define CORE_PAIR_FIRST_H

#include "core/source/journal/pair.h"

/* Adds that work's call to pair_match()'s answers. `on_ticks`: when CUPTI was switched on. */
void pair_first(const struct pair_input *in, uint64_t on_ticks, uint32_t *call_of);

#endif
