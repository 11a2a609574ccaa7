/*
 * The call at whose start CUPTI was switched on, where CUPTI records calls: it has no record if a function around it was entered before.
 * So it is where a runtime that is linked in statically (cuBLAS has one) is seen at the driver's function within.
 */
#ifndef CORE_PAIR_FIRST_H
#define CORE_PAIR_FIRST_H

#include "core/source/journal/pair.h"

/* CUPTI was switched on at `on_ticks`. Adds to what pair_match answered. */
void pair_first(const struct pair_input *in, uint64_t on_ticks, uint32_t *call_of);

#endif
