/*
 * Puts the loops of threads into the loops that create these threads, and counts their calls there.
 */
#ifndef CORE_LOOP_BIRTHS_H
#define CORE_LOOP_BIRTHS_H

#include "core/steps/loop_tree.h"

/*
 * Threads belong to a loop if nearly all of them make their last call in the iteration that created
 * them. Of several such loops around a creation, they belong to the innermost one. The threads of a
 * pool belong to no loop: they go on in later iterations.
 *
 * Iterations without a call that create no thread with calls are set aside (loop.empty): a loop
 * that finds nothing left to do may start and join helper threads before it ends. Loops that only
 * join threads keep theirs.
 *
 * Sets loop_place.parent of the threads' outermost loops, and adds the threads' calls to the loops
 * that they belong to. May be called again when the tree has taken more calls.
 */
void loop_births_link(struct loop_tree *t);

/*
 * Returns the place that creates the threads which run the loop, if most of them end soon, but
 * belong to no loop that is seen. Then the loop is a part of something. LOOP_NONE: not so.
 */
uint32_t loop_births_unseen(const struct loop_tree *t, uint32_t loop);

#endif
