/*
 * Where steps are looked for in the middle of one: an optimizer's phase that comes among the first launches is taken for a loop over parameters
 * (core/steps/levels.h). So the first whole step begins behind the first such phase. Threads are read one after the other, so launches are held till it
 * is known when that was.
 */
#ifndef CORE_LEARN_MIDSTEP_H
#define CORE_LEARN_MIDSTEP_H

#include "core/steps/levels.h"
#include "core/util/vec.h"

struct learn_held {
	uint32_t slot;
	uint64_t hash; /* of the three launches up to this one */
	struct level_event event;
};

struct learn_midstep {
	bool is_on;
	VEC(struct learn_held) held;
	bool saw_optimizer;
	uint32_t slot, n_after; /* the thread of its launches, and those behind the last one */
	uint64_t from_ns;	/* the first whole step's begin, as soon as that is known */
};

void learn_midstep_begin(struct learn_midstep *a);
void learn_midstep_end(struct learn_midstep *a);

/* The next launch of its thread. Whether from_ns is known with it. */
bool learn_midstep_hold(struct learn_midstep *a, const struct learn_held *launch);

/* How often those three launches came before from_ns. */
uint64_t learn_midstep_count(const struct learn_midstep *a, uint64_t hash);

#endif
