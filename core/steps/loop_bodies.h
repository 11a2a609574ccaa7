/*
 * Where Python functions make calls, for each place that they are called from. A function in C,
 * such as sum() or map(), may call several times from one place. This shows whether the Python code
 * around it can have gone on in between: not if that would have made another call.
 *
 * Only calls count that are certain. A function that logs now and then makes a call at its place
 * only sometimes, and an allocator only if it has no memory left to reuse, so the lack of the call
 * shows nothing.
 */
#ifndef CORE_LOOP_BODIES_H
#define CORE_LOOP_BODIES_H

#include "core/steps/loop_stacks.h"

/*
 * Notes at which places the Python functions on the stack make its call. `works`: the call is not
 * one of upkeep.
 */
void loop_bodies_add(struct loop_stacks *x, const struct loop_stack *s, bool works);

void loop_bodies_free(struct loop_bodies *b);

/*
 * Returns whether the function of frame `level`, between two calls of it, certainly makes a call at
 * another place than the frame's. If no such call came in between, it was not called again.
 */
bool loop_call_needs_others(struct loop_stacks *x, const struct loop_stack *s, uint32_t level);

/* Returns the same for the next iteration of the loop `number` around the frame's place. */
bool loop_turn_needs_others(struct loop_stacks *x, const struct loop_stack *s, uint32_t level,
			    uint32_t number);

/*
 * Returns whether a function of the program that the loop calls at the place `at` may only make
 * calls in loops within it, as one that launches in a loop and reads a result now and then. Such
 * an iteration is not seen. A function of a library is taken to make its other calls each time.
 */
bool loop_site_may_hide(const struct loop_stacks *x, const struct loop_place *p, uint64_t at);

/*
 * Returns whether the loop may have gone round where it seemed not to: calls came again from one
 * place, and none of those that were missing in between is certain.
 */
bool loop_place_is_doubtful(struct loop_stacks *x, const struct loop_place *p);

#endif
