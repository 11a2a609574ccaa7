/*
 * PROF_STEP=python:FILE-SUFFIX:FUNCTION. Finds where calls of that function begin in the stream of
 * launches, using the stacks that the library then takes of all launches. The trigram that occurs
 * there once in each call becomes the anchor; from then on it is counted like any other anchor.
 */
#ifndef CORE_LEARN_FUNCTION_H
#define CORE_LEARN_FUNCTION_H

#include "core/source/journal/dict.h"
#include "core/steps/levels.h"
#include "core/symbols/source.h"
#include "core/util/map.h"
#include "core/util/vec.h"

#define FUNCTION_OUTSIDE UINT32_MAX

struct function_launch {
	uint64_t hash;
	uint32_t at;   /* place in the function's code that it came from, or FUNCTION_OUTSIDE */
	uint32_t loop; /* line of the function's loop that contains it; 0: none */
};

struct learn_function {
	VEC(uint8_t) match_of_code; /* 1: no match, 2: match, 0: not checked yet */
	struct map at_of_stack;	    /* place in the lower 32 bits, loop in the upper ones */
	struct source source;
	struct strtab texts;
	/* Of the thread that called the function first, from that call on. */
	VEC(struct function_launch) launches;
	uint32_t thread;
	size_t next_look; /* number of launches at which to search again */
	uint64_t n_calls; /* found by the last search */
};

void learn_function_free(struct learn_function *x);

/* Takes the next launch or copy of `thread`, in its order. `setting` is FILE-SUFFIX:FUNCTION. */
void learn_function_feed(struct learn_function *x, const struct dict *d, const char *setting,
			 uint32_t thread, uint64_t hash, uint32_t stack);

/* Returns whether the anchor is known, and fills `out`. `ended`: no more launches will come. */
bool learn_function_vote(struct learn_function *x, bool ended, struct level_choice *out);

#endif
