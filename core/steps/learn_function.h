/*
 * Finds the steps of PROF_STEP=python:FILE-SUFFIX:FUNCTION. In this mode the library takes stacks
 * of all launches, so the stacks show where each call of the function begins in the stream of
 * launches. The trigram that occurs there exactly once in each call becomes the anchor. From then
 * on, steps are counted with this anchor as with any other.
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
	/* offset in bytes of the function's instruction that launched, or FUNCTION_OUTSIDE */
	uint32_t at;
	/* line of the function's outermost loop that contains the place; 0: none */
	uint32_t loop;
};

struct learn_function {
	VEC(uint8_t) match_of_code; /* by code id: 0 not checked yet, 1 no match, 2 match */
	/* by stack id: function_launch.at in the lower 32 bits, .loop in the upper 32 */
	struct map at_of_stack;
	struct source source;
	struct strtab texts;
	/*
	 * Launches of `thread`, from the first call of the function on. `thread` is the first
	 * thread that called it.
	 */
	VEC(struct function_launch) launches;
	uint32_t thread;
	size_t next_look; /* number of launches at which the next search is due */
	uint64_t n_calls; /* calls of the function that the last search found */
};

void learn_function_free(struct learn_function *x);

/*
 * Takes the next launch or copy of `thread`. Those of one thread must come in order. `setting` is
 * FILE-SUFFIX:FUNCTION.
 */
void learn_function_feed(struct learn_function *x, const struct dict *d, const char *setting,
			 uint32_t thread, uint64_t hash, uint32_t stack);

/*
 * Returns whether the anchor is known, and fills in `out` if it is. `ended`: no more launches will
 * come.
 */
bool learn_function_vote(struct learn_function *x, bool ended, struct level_choice *out);

#endif
