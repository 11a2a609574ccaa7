/*
 * Finds launches that mark the steps of a loop, so that the library can count the steps without
 * stacks: a trigram (core/runtime/token.h) that occurs once in each iteration, near the place where
 * one iteration ends and the next begins, and nowhere else.
 */
#ifndef CORE_LOOP_ANCHOR_H
#define CORE_LOOP_ANCHOR_H

#include "core/steps/levels.h"
#include "core/steps/loop_choice.h"

/*
 * Returns whether such a trigram exists. Fills in `out`: anchor, backup, count and what else
 * depends on them.
 */
bool loop_anchor_find(const struct loop_tree *t, const struct loop_choice *c,
		      struct level_choice *out);

#endif
