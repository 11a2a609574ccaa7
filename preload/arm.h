/*
 * Which action a step has: the schedule's, moved to where steps became known. A pure function of what it was told; knows
 * neither clocks nor the journal. Used by the thread that crosses a boundary.
 */
#ifndef PRELOAD_ARM_H
#define PRELOAD_ARM_H

#include "core/schedule.h"

struct arm {
	struct schedule schedule;
	uint64_t shift; /* steps by which the schedule was moved */
	bool is_held;	/* the schedule has not begun: other ranks' steps are not known yet */
};

void arm_start(struct arm *a, const struct schedule *schedule);

/* Nothing will ever be armed: steps need not be told apart. */
bool arm_is_off(const struct arm *a);

/* Whether everything is recorded, so that it does not matter which step is under way. */
bool arm_is_always(const struct arm *a);

/* Nothing is armed by the schedule until arm_locked(). */
void arm_hold(struct arm *a);

/*
 * Steps are known now, and `next` is the first one that can be armed. If the schedule's first armed step is over or under way
 * already, the whole schedule moves so that it begins with `next`: a late lock must not cost the user the window.
 */
void arm_locked(struct arm *a, uint64_t next);

/* What happens in step `number`. */
enum sched_action arm_action(const struct arm *a, uint64_t number);

#endif
