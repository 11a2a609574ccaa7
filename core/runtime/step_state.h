/*
 * How far the detection of steps has come (PROF_STEP=auto). The library and the collector share
 * these states, and each has one of its own: the library's says with which anchor it counts steps,
 * and is in the journal's header; the collector's says what it has concluded from the launches and
 * stacks read so far (core/steps/learn.h, core/steps/levels.h).
 *
 * The collector's: LEARNING, then PROVISIONAL or at once CONFIRMED. A provisional answer may be
 * replaced by another one, and becomes CONFIRMED or WITHDRAWN. After WITHDRAWN, the next answer is
 * CONFIRMED at once. If the program does other work later, the collector's state is LEARNING again.
 *
 * The library's: LEARNING, ADOPTED, then as above. From PROVISIONAL and WITHDRAWN, a new anchor
 * leads back to ADOPTED, with the step numbers from before. A confirmed anchor that stops occurring
 * leads to OVERDUE, then LOST. From there, it leads back to CONFIRMED if it occurs again, and a new
 * anchor leads to ADOPTED. If a provisional anchor stops occurring, the library waits in WITHDRAWN.
 */
#ifndef CORE_STEP_STATE_H
#define CORE_STEP_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* The values are part of the journal's format. */
enum step_state {
	/* The library finds the step boundaries without the collector (all modes except auto). */
	STEP_STATE_OWN,
	/* No anchor. The library journals launches and copies, and waits for one. */
	STEP_STATE_LEARNING,
	/*
	 * The library counts how often the anchor occurs, still journals launches and copies, and
	 * waits until base_generation equals anchor_generation.
	 */
	STEP_STATE_ADOPTED,
	/* Step numbers are absolute and the schedule applies. The library journals no launches. */
	STEP_STATE_CONFIRMED,
	/*
	 * A confirmed anchor has not occurred for long. The library journals launches and copies
	 * again. It returns to CONFIRMED if the anchor occurs, or adopts a new anchor.
	 */
	STEP_STATE_LOST,
	/*
	 * Like CONFIRMED, but the anchor may still prove wrong, so the library journals launches
	 * and copies, and the collector goes on learning.
	 */
	STEP_STATE_PROVISIONAL,
	/*
	 * A confirmed anchor is overdue, or its steps are checked (see struct journal_steps). The
	 * library still counts with it, but journals launches and copies again.
	 */
	STEP_STATE_OVERDUE,
	/*
	 * A provisional anchor proved wrong: it has not occurred for long, or the launches show
	 * other steps. Its steps are void, unless it occurs again before there is a new anchor.
	 */
	STEP_STATE_WITHDRAWN,
	STEP_STATES
};

/* Returns whether an anchor counts steps with absolute numbers. */
static inline bool step_state_is_counting(uint32_t state)
{
	return state == STEP_STATE_PROVISIONAL || state == STEP_STATE_CONFIRMED ||
	       state == STEP_STATE_OVERDUE;
}

/*
 * Returns whether there is no anchor with absolute step numbers, so that launches and copies are
 * journaled for learning.
 */
static inline bool step_state_is_learning(uint32_t state)
{
	return state != STEP_STATE_OWN && !step_state_is_counting(state);
}

#endif
