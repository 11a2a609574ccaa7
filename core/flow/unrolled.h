/*
 * Finds unrolled loops. GCC 13 and later unroll small loops at -O2 already, such as
 *
 *	for (int i = 0; i < n; i++)
 *		step();
 *
 * The machine code then calls step() twice in an iteration, and once more before the loop if `n` is
 * odd. Internal to core/flow.
 */
#ifndef CORE_FLOW_UNROLLED_H
#define CORE_FLOW_UNROLLED_H

#include "core/flow/flow_parts.h"
#include "core/flow/notes.h"

/* Fills in f->copies. */
void unrolled_find(struct flow *f, const struct notes *notes);

#endif
