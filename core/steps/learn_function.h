/*
 * PROF_STEP=python:FILE-SUFFIX:FUNCTION: where that function's calls begin in the stream of launches, by the stacks that the library then takes of
 * all of them, and which launches in a row come there, once in each call. That is the anchor; from then on it is counted as any other.
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
	uint32_t at;   /* the function's instruction that it came from, or FUNCTION_OUTSIDE */
	uint32_t loop; /* the line of the function's loop that this stands in; 0: in none */
};

struct learn_function {
	VEC(uint8_t) match_of_code; /* 1 it is not, 2 it is, 0: not asked yet */
	struct map at_of_stack;	    /* and in the upper half the loop */
	struct source source;
	struct strtab texts;
	VEC(struct function_launch)
	launches; /* of the thread that called the function first, from there on */
	uint32_t thread;
	size_t next_look; /* launches */
	uint64_t n_calls; /* as of the last look */
};

void learn_function_free(struct learn_function *x);

/* The next launch or copy of `thread`, in its order. `setting`: FILE-SUFFIX:FUNCTION. */
void learn_function_feed(struct learn_function *x, const struct dict *d, const char *setting,
			 uint32_t thread, uint64_t hash, uint32_t stack);

/* Whether the anchor is known. `ended`: nothing more will come. */
bool learn_function_vote(struct learn_function *x, bool ended, struct level_choice *out);

#endif
