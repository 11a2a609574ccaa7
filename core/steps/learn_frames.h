/*
 * What stacks say to step learning. While it learns the library takes a stack of launches that are new to it only; what that says
 * holds for all launches with the same trigram. Python's frames only: native symbols would cost more time than learning has.
 */
#ifndef CORE_LEARN_FRAMES_H
#define CORE_LEARN_FRAMES_H

#include "core/journal/dict.h"
#include "core/util/map.h"
#include "core/util/vec.h"

/* Beside enum level_hint: the trigram came with stacks that say other things. */
#define LEARN_FRAMES_DISAGREE 0x10000u
/* ...and was made within a module's call: what the model reads for itself, layer by layer, is no answer that ends a iteration. */
#define LEARN_FRAMES_IN_MODULE 0x20000u

struct learn_code {
	bool is_known;	   /* asked already */
	uint8_t part;	   /* enum phase_part */
	bool is_user_code; /* the user's own, or a library's that is built on the framework */
	bool is_step;	   /* named like an optimizer's step */
	uint32_t
		closure_at; /* of a step: the first place at which it evaluates its closure, from 1; 0: it does not, as far as was seen */
};

struct learn_frames {
	VEC(struct learn_code) codes;
	struct map hints_of_trigram;
	struct map stacks_of_trigram; /* the last two that were taken, 32 bits each */
};

void learn_frames_free(struct learn_frames *x);

/* enum level_hint bits of a launch that completes the trigram `hash`; `stack` 0: none was taken. */
uint32_t learn_frames_hints(struct learn_frames *x, const struct dict *d, uint64_t hash,
			    uint32_t stack);

/* Whether launches with the trigram `hash` are made before those with `other` in the function, of those that are under way for both, where their
 * ways part: who makes them behind the others has gone round a loop, or called the function anew. */
bool learn_frames_is_before(const struct learn_frames *x, const struct dict *d, uint64_t hash,
			    uint64_t other);

#endif
