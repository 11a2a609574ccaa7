/* Finds the stack of each call: the slices of its thread that are open when it begins. */
#ifndef CORE_KINETO_NEST_H
#define CORE_KINETO_NEST_H

#include "core/source/kineto/stacks.h"
#include "core/source/kineto/trace.h"

/*
 * Sorts the trace's slices and calls by thread and time, and sets the calls' stacks. A call within
 * another call is left out, as in a live run: its GPU work belongs to the outer call.
 * Between two calls of a thread, its open slices say what the CPU did; they become samples. Blocks
 * get their stacks in the same way, and are sorted by time.
 */
void nest_find(struct trace *t, struct stacks *stacks);

#endif
