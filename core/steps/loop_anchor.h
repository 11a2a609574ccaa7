/*
 * Finds an anchor for the steps of a loop: a trigram or a single token (core/runtime/token.h) that
 * each iteration completes equally often, so that the library can count them without stacks.
 */
#ifndef CORE_LOOP_ANCHOR_H
#define CORE_LOOP_ANCHOR_H

#include "core/steps/loop_choice.h"

/* With more steps, an anchor would have been found. */
enum { LOOP_ANCHOR_STEPS = 24 };

struct loop_anchor {
	uint64_t hash;
	uint32_t thread; /* one that completes it */
	uint64_t n;	 /* how often it occurs in the tree */
	/* Ends a step that lacks the anchor (core/runtime/iteration.h); 0: none. */
	uint64_t backup;
	uint32_t backup_within; /* number of launches of `thread` from the backup to the anchor */
	/* Not 0: each step has `every` of them; see iteration_ends_at(). */
	uint32_t every, lead;
	uint64_t distance; /* mean number of launches from the step's end to the anchor, or back */
	uint64_t n_ended;  /* number of steps that have ended, the last one by the anchor */
	/*
	 * -1: the anchor is nearer to the begin of a step, so it ends the step before, and the
	 * first one ends none. With `every`: number of steps that ended before the first one that
	 * the anchor ends.
	 */
	int64_t n_missed;
};

/*
 * Returns whether the steps `c` of the tree have an anchor, and describes it in `out`. Prefers one
 * that each step has once, then one that occurs in more of the steps, then a trigram, and then the
 * one nearest to the end of a step.
 */
bool loop_anchor_find(const struct loop_tree *t, const struct loop_choice *c,
		      struct loop_anchor *out);

#endif
