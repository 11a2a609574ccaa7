/*
 * Iterations that only seem to be some. They are joined with the ones before or after them. The
 * frames that all calls of an iteration share show this.
 */
#ifndef CORE_LOOP_REPAIR_H
#define CORE_LOOP_REPAIR_H

#include "core/steps/loop_tree.h"

/* Notes for each open loop of the thread where its call with the stack `s` is. */
void loop_note_frames(struct loop_thread *thread, const struct loop_stack *s);

/* Some calls of the thread's open iterations are at unknown places. */
void loop_forget_frames(struct loop_thread *thread);

/* How a run of a loop ended: the program went on after the loop, or made no further call. */
enum run_end { RUN_LEFT, RUN_CUT };

/*
 * Returns whether the iteration, whose counts are `n`, only found out that the loop is over: the
 * iterator of a `for` has no further element, or the condition of a `while` is false. It launched
 * nothing, and each iteration that goes round makes a call at another place. If the program ended,
 * it may have failed there, but not in the iterator of a `for`, which is the first instruction of
 * the loop.
 */
bool loop_only_tested(const struct loop_tree *t, const struct loop_open *open,
		      const struct loop_counts *n, enum run_end how);

/* Makes the calls of the last iteration part of the one before it. */
void loop_join_last(struct loop *l);

/*
 * Joins iterations that cannot have gone round with the next ones: all their calls are at one
 * place, but to go round, the loop makes a call at another place, or a function does that it calls.
 * sum() and map() in Python, which call several times from one place, look like iterations until
 * these other calls are known.
 */
void loop_repair(struct loop_tree *t);

#endif
