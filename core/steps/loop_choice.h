/*
 * Chooses the loop whose iterations are the steps, from the loop tree alone. With an optimizer, it
 * is the innermost loop around the optimizer's steps. Without one, it is the outermost loop with
 * the most time, unless that one looks like a loop of epochs. The confidence says how much speaks
 * for the loop and against the second one.
 */
#ifndef CORE_LOOP_CHOICE_H
#define CORE_LOOP_CHOICE_H

#include "core/steps/loop_tree.h"

/* Where a step begins, and how long it is. */
struct loop_begin {
	uint64_t ticks;
	uint32_t slot;
	uint32_t launch;     /* number of launches that the thread had made before */
	uint32_t n_launches; /* of the thread in the step */
};

typedef VEC(struct loop_begin) loop_begins;

struct loop_choice {
	uint32_t loop;	/* index in loop_tree.loops */
	uint32_t other; /* the loop that could be meant instead, LOOP_NONE: none */
	double confidence;
	bool by_optimizer;
	/* A step is several iterations: those up to an optimizer's step. */
	bool is_grouped;
	bool shows_all; /* each iteration of the loop makes a call that shows it */
	bool is_seen;	/* also each one of all loops around it */
	/*
	 * Several threads take turns to begin an iteration, as if one step were an iteration of all
	 * of them. In a pool, it may be one of each.
	 */
	bool is_in_turns;
	/* In the order of time. Steps of all loops that the choice includes. */
	loop_begins begins;
	uint64_t end_ticks; /* the end of the last iteration */
};

/*
 * Returns whether a loop was found, and describes it in `out`, which loop_choice_free() frees.
 * Sorts the iterations of the loops by their begins.
 */
bool loop_choose(struct loop_tree *t, struct loop_choice *out);

/*
 * Describes the loop `index` as the steps, as loop_choose() would if no other loop came into
 * question. Returns false if the loop has fewer than two iterations.
 */
bool loop_choose_this(struct loop_tree *t, uint32_t index, struct loop_choice *out);

/*
 * Returns whether no call shows each iteration of the loop, or of a loop around it. Then it may be
 * a part of a step, or several steps, and launches that recur as often say nothing about it.
 */
bool loop_is_hidden(const struct loop_tree *t, uint32_t index);

void loop_choice_free(struct loop_choice *c);

/* Returns whether the loop may be one of steps: not a loop of a framework, model or optimizer. */
bool loop_may_be_step(const struct loop_tree *t, const struct loop *l);

#endif
