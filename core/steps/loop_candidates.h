/* The loops that may be the step, and the two ways to choose one. Internal to loop_choice.c. */
#ifndef CORE_LOOP_CANDIDATES_H
#define CORE_LOOP_CANDIDATES_H

#include "core/steps/loop_choice.h"

/* Without an optimizer. With fewer iterations, nothing shows that the loop is one of steps. */
enum { ITERATIONS_LEAST = 3 };

/* Share of the iterations that counts as each of them. */
#define NEARLY_EACH 0.90

/* The loops that go round and may be the step. */
typedef VEC(const struct loop *) loop_candidates;

static inline const struct loop_place *loop_place_of(const struct loop_tree *t,
						     const struct loop *l)
{
	return &t->stacks.places.at[l->place];
}

/* Time in the loop without its longest iteration, which may load or compile. */
static inline double loop_weight(const struct loop *l)
{
	return (double)(l->ticks - l->longest_ticks);
}

/* Returns the nearest loop around `l` that goes round and may be the step; NULL: none. */
const struct loop *loop_outer(const struct loop_tree *t, const struct loop *l);

bool loop_is_around(const struct loop_tree *t, const struct loop *outer, const struct loop *l);

/* Compares two struct loop_iteration for qsort(). */
int loop_by_begin(const void *a, const void *b);

/* Adds one step for each iteration. */
void loop_add_begins(loop_begins *out, const struct loop *l);

/* Each step ends with the iteration that has an optimizer's step. */
void loop_add_groups(loop_begins *out, const struct loop *l);

/* Moves the end of the steps to that of the loop's last iteration. */
void loop_note_end(struct loop_choice *out, const struct loop *l);

/*
 * Choose the loop with and without an optimizer. Return false if there is none, or if it has too
 * few iterations; then `out` may be incomplete, but loop_choice_free() frees it.
 */
bool loop_by_optimizer(const struct loop_tree *t, const loop_candidates *all,
		       struct loop_choice *out);
bool loop_by_time(const struct loop_tree *t, const loop_candidates *all, struct loop_choice *out);

#endif
