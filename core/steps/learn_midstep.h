/*
 * Finds the start of the first whole step if the search began in the middle of a step. If the
 * search saw a part of an optimizer's phase first, it would take the optimizer's loop over
 * parameters for the step (core/steps/levels.h). So the first whole step begins after the first
 * optimizer phase. Because threads are read one after the other, the end of that phase may be found
 * only after earlier launches of other threads were read. Launches are therefore held until the end
 * is known, and those before it are discarded.
 */
#ifndef CORE_LEARN_MIDSTEP_H
#define CORE_LEARN_MIDSTEP_H

#include "core/steps/levels.h"
#include "core/util/vec.h"

struct learn_held {
	uint32_t slot;
	uint64_t hash; /* hash of the trigram that this launch completes */
	struct level_event event;
};

struct learn_midstep {
	bool is_on;
	VEC(struct learn_held) held;
	bool saw_optimizer;
	/*
	 * The optimizer's thread, and how many launches it has made since the optimizer's last one.
	 */
	uint32_t slot, n_after;
	uint64_t from_ns; /* start of the first whole step; valid once is_on is false again */
};

/* learn_midstep_begin() starts holding launches. learn_midstep_end() frees the held ones. */
void learn_midstep_begin(struct learn_midstep *a);
void learn_midstep_end(struct learn_midstep *a);

/*
 * Takes the next launch. Launches of one thread must come in order. Returns whether from_ns is
 * known.
 */
bool learn_midstep_hold(struct learn_midstep *a, const struct learn_held *launch);

/* Returns how often the trigram `hash` was completed before from_ns by the launches held. */
uint64_t learn_midstep_count(const struct learn_midstep *a, uint64_t hash);

#endif
