/*
 * Finds the start of the first whole step when the search begins in the middle of one. If an
 * optimizer's phase is among the first launches, its loop over parameters is taken for the step
 * (core/steps/levels.h). So the first whole step begins after the first optimizer phase. Threads
 * are read one after the other, so launches are held until that moment is known.
 */
#ifndef CORE_LEARN_MIDSTEP_H
#define CORE_LEARN_MIDSTEP_H

#include "core/steps/levels.h"
#include "core/util/vec.h"

struct learn_held {
	uint32_t slot;
	uint64_t hash; /* trigram hash: of the three launches up to this one */
	struct level_event event;
};

struct learn_midstep {
	bool is_on;
	VEC(struct learn_held) held;
	bool saw_optimizer;
	/* The optimizer's thread, and its launches since the optimizer's last one. */
	uint32_t slot, n_after;
	uint64_t from_ns; /* start of the first whole step; valid once is_on is false again */
};

void learn_midstep_begin(struct learn_midstep *a);
void learn_midstep_end(struct learn_midstep *a);

/* Takes the next launch of its thread. Returns whether from_ns is known with it. */
bool learn_midstep_hold(struct learn_midstep *a, const struct learn_held *launch);

/* Returns how often the trigram `hash` was completed before from_ns. */
uint64_t learn_midstep_count(const struct learn_midstep *a, uint64_t hash);

#endif
