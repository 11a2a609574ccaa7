/*
 * Which action a step has: the schedule's, moved to where steps became known, or that of a window which something asked for
 * (trigger.h). A pure function of what it was told; knows neither clocks nor the journal. Used by the thread that crosses a
 * boundary.
 */
#ifndef PRELOAD_ARM_H
#define PRELOAD_ARM_H

#include "core/runtime/schedule.h"

/* Steps `first` to `first + n - 1` are recorded; the `n_warmup` before them warm up. */
struct arm_window {
	uint64_t first, n, n_warmup;
};

struct arm {
	struct schedule schedule;
	bool may_be_asked; /* something may ask for windows */
	bool is_held; /* the schedule has not begun: this process's steps, or the other ranks', are not known yet */
	uint64_t shift;		     /* steps by which the schedule was moved */
	uint64_t n_warmup, n_active; /* of a window that nobody gave a size */
	struct arm_window window;    /* n 0: none was ever asked for */
};

/* `is_held`: nothing is recorded by the schedule until arm_locked(), unless it arms everything. */
void arm_start(struct arm *a, const struct schedule *schedule, bool may_be_asked, bool is_held);

/* Nothing will ever be recorded: steps need not be told apart. */
bool arm_is_off(const struct arm *a);

/* Whether everything is recorded, so that it does not matter which step is under way. */
bool arm_is_always(const struct arm *a);

/*
 * The schedule begins, and `next` is the first step that it can arm. If its first recorded step is over or under way already, the
 * whole schedule moves so that it begins with `next`: a late lock must not cost the user the window.
 */
void arm_locked(struct arm *a, uint64_t next);

/* It begins anew, when arm_locked() says so; but for the flight recorder, which goes on. */
void arm_hold(struct arm *a);

/* `n` steps were over before they were counted: the schedule's clock stood still meanwhile. */
void arm_skip(struct arm *a, uint64_t n);

/* What was recorded since `then` was not what it seemed: the schedule goes back to there, and what was asked for is still to come. `next`: the
 * first step that has not begun. */
void arm_take_back(struct arm *a, const struct arm *then, uint64_t next);

/* The step that was to be `before` is known to be `next`: a window under way goes on. */
void arm_renumber(struct arm *a, uint64_t before, uint64_t next);

/* Asks for `n` steps (0: as many as the schedule records at a time); `next` is the first that has not begun. To warm up begins with step
 * `from`, if that is still to come. What is under way is made longer. Which steps that gives. */
struct arm_window arm_ask(struct arm *a, uint64_t next, uint64_t from, uint64_t n);

/* Whether the flight recorder has step `number`. */
bool arm_is_flying(const struct arm *a, uint64_t number);

/* What happens in step `number`. */
enum sched_action arm_action(const struct arm *a, uint64_t number);

/* Whether a window that was asked for goes on with step `number`. */
bool arm_is_asked(const struct arm *a, uint64_t number);

#endif
