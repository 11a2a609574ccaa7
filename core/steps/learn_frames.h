/*
 * Derives hints for step learning from the stacks of launches. During learning, the library takes
 * stacks only of launches that are new to it. What a stack shows is then assumed of all launches
 * with the same trigram. Only Python frames are used, because resolving native symbols would take
 * longer than learning may take.
 */
#ifndef CORE_LEARN_FRAMES_H
#define CORE_LEARN_FRAMES_H

#include "core/source/journal/dict.h"
#include "core/util/map.h"
#include "core/util/vec.h"

/* Extends enum level_hint: stacks of the same trigram disagree. */
#define LEARN_FRAMES_DISAGREE 0x10000u
struct learn_code {
	bool is_known; /* the other members are valid */
	uint8_t part;  /* enum phase_part */
	/* The code is the user's, or belongs to a library built on the framework. */
	bool is_user_code;
	bool is_step; /* the function is named `step`, as an optimizer's step is */
};

struct learn_frames {
	VEC(struct learn_code) codes;
	struct map hints_of_trigram;
};

void learn_frames_free(struct learn_frames *x);

/*
 * Returns the enum level_hint bits of a launch that completes the trigram `hash`. `stack` is 0 if
 * no stack was taken; the hints then come from earlier launches with the same trigram.
 */
uint32_t learn_frames_hints(struct learn_frames *x, const struct dict *d, uint64_t hash,
			    uint32_t stack);

#endif
