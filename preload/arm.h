/*
 * Decides what happens in each step: what the schedule says, shifted to where steps became known,
 * or what a requested window says (trigger.h). Depends on its inputs alone, uses neither clocks nor
 * the journal. Used only by the thread that crosses a boundary.
 */
#ifndef PRELOAD_ARM_H
#define PRELOAD_ARM_H

#include "core/runtime/schedule.h"

/* Steps `first` to `first + n - 1` are recorded; the `n_warmup` steps before them are warm-up. */
struct arm_window {
	uint64_t first, n, n_warmup;
};

struct arm {
	struct schedule schedule;
	bool may_be_asked; /* windows can be requested */
	bool is_held;	   /* the schedule has not started: own or other ranks' steps are unknown */
	uint64_t shift;	   /* steps by which the schedule was moved */
	uint64_t n_warmup, n_active; /* of a window requested without a size */
	struct arm_window window;    /* n 0: none was ever requested */
};

/* `is_held`: the schedule records nothing until arm_locked(), unless it is "always". */
void arm_start(struct arm *a, const struct schedule *schedule, bool may_be_asked, bool is_held);

/* Returns true if nothing will ever be recorded: steps need not be detected. */
bool arm_is_off(const struct arm *a);

/* Returns true if everything is recorded, so that the number of the step does not matter. */
bool arm_is_always(const struct arm *a);

/*
 * Starts the schedule; `next` is the first step that it can record. If its first recorded step is
 * over or under way already, the whole schedule moves so that it starts with `next`: the user must
 * not lose the window because steps were detected late.
 */
void arm_locked(struct arm *a, uint64_t next);

/* Stops the schedule until the next arm_locked(). The flight recorder keeps running. */
void arm_hold(struct arm *a);

/* Delays the schedule by `n` steps: they were over before they were counted. */
void arm_skip(struct arm *a, uint64_t n);

/*
 * Restores the state saved in `then`: the steps recorded since were not real ones. A window
 * requested meanwhile is recorded from `next` on, the first step that has not begun.
 */
void arm_take_back(struct arm *a, const struct arm *then, uint64_t next);

/* The step expected to be number `before` turned out to be `next`. Moves a window under way. */
void arm_renumber(struct arm *a, uint64_t before, uint64_t next);

/*
 * Requests `n` steps (0: as many as the schedule records at a time). `next` is the first step that
 * has not begun; warm-up begins with `from` if that is later. Extends a window that is under way.
 * Returns the steps that will be recorded.
 */
struct arm_window arm_ask(struct arm *a, uint64_t next, uint64_t from, uint64_t n);

/* Returns whether the flight recorder records step `number`. */
bool arm_is_flying(const struct arm *a, uint64_t number);

enum sched_action arm_action(const struct arm *a, uint64_t number);

/* Returns whether step `number` belongs to a requested window, warm-up included. */
bool arm_is_asked(const struct arm *a, uint64_t number);

#endif
