/*
 * What a launch's stack says to step learning. While it learns, the library takes stacks only of
 * launches that are new to it; what a stack says then holds for all launches with the same trigram.
 * Uses Python frames only, because resolving native symbols would take more time than learning has.
 */
#ifndef CORE_LEARN_FRAMES_H
#define CORE_LEARN_FRAMES_H

#include "core/source/journal/dict.h"
#include "core/util/map.h"
#include "core/util/vec.h"

/* Extends enum level_hint: the trigram's stacks disagree. */
#define LEARN_FRAMES_DISAGREE 0x10000u
/*
 * Extends enum level_hint: launched within a module's call. What the model reads for itself, layer
 * by layer, is not a result that ends an iteration.
 */
#define LEARN_FRAMES_IN_MODULE 0x20000u

struct learn_code {
	bool is_known; /* the other members are valid */
	uint8_t part;  /* enum phase_part */
	/* In the user's own code, or in a library built on the framework. */
	bool is_user_code;
	bool is_step; /* named like an optimizer's step */
	/*
	 * Of a step: the first place at which it evaluates its closure, counted from 1; 0: none
	 * seen.
	 */
	uint32_t closure_at;
};

struct learn_frames {
	VEC(struct learn_code) codes;
	struct map hints_of_trigram;
	struct map stacks_of_trigram; /* the last two stacks, 32 bits each */
};

void learn_frames_free(struct learn_frames *x);

/*
 * Returns enum level_hint bits of a launch that completes the trigram `hash`. `stack` is 0 if none
 * was taken.
 */
uint32_t learn_frames_hints(struct learn_frames *x, const struct dict *d, uint64_t hash,
			    uint32_t stack);

/*
 * Returns whether launches with the trigram `hash` come before those with `other` in the code: in
 * the innermost function that is active for both, where their stacks part. Then a launch of `hash`
 * that follows one of `other` shows that a loop began its next iteration or the function was called
 * again.
 */
bool learn_frames_is_before(const struct learn_frames *x, const struct dict *d, uint64_t hash,
			    uint64_t other);

#endif
