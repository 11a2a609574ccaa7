/*
 * Decides whether a step is skipped, used as warm-up or recorded. A step is recorded if the
 * schedule or a requested window (trigger.h) says so. The schedule is moved if steps were detected
 * only after it should have started. Results depend only on the arguments, neither on clocks nor on
 * the journal. Only the thread that crosses a step boundary calls these functions.
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
	bool may_be_asked; /* the settings allow requests for windows */
	/* the schedule has not started: this or another rank has not detected its steps */
	bool is_held;
	/* everything is recorded, so the schedule's steps need not be moved (opening.h) */
	bool is_opening;
	uint64_t shift; /* number of steps by which the schedule was moved */
	/* size of a requested window; n_active: if the request has none */
	uint64_t n_warmup, n_active;
	struct arm_window window; /* the newest requested window; n 0: there was none */
};

/*
 * Initializes `a`. `may_be_asked`: windows may be requested. `is_held`: the schedule records
 * nothing until arm_locked(), unless it is "always".
 */
void arm_start(struct arm *a, const struct schedule *schedule, bool may_be_asked, bool is_held);

/* Returns true if nothing will ever be recorded, so that steps need not be detected. */
bool arm_is_off(const struct arm *a);

/* Returns true if everything is recorded, so that the number of the step does not matter. */
bool arm_is_always(const struct arm *a);

/* Returns true if recording never ends, although only the latest steps may be kept. */
bool arm_is_endless(const struct arm *a);

/*
 * Starts the schedule. `next` is the first step that can still be recorded. If the first step that
 * the schedule warms up or records is before `next`, the whole schedule moves so that this step
 * becomes `next`. Otherwise the user would lose recorded steps because steps were detected late.
 */
void arm_locked(struct arm *a, uint64_t next);

/* Starts the schedule with its first step, which may be over: the opening has recorded it. */
void arm_locked_in_opening(struct arm *a);

/* Returns whether the schedule records no step from `number` on, and no request does. */
bool arm_is_done(const struct arm *a, uint64_t number);

/* Stops the schedule until the next arm_locked(). Does not stop the flight recorder. */
void arm_hold(struct arm *a);

/* Delays the schedule by `n` steps, which had ended before they could be counted. */
void arm_skip(struct arm *a, uint64_t n);

/*
 * Restores `*then`, a copy that the caller saved before it used an anchor that has since proved
 * wrong. A window that was requested since then is kept; its warm-up begins with `next`, the first
 * step that has not begun.
 */
void arm_take_back(struct arm *a, const struct arm *then, uint64_t next);

/*
 * Called when the next step, expected to be number `before`, gets the number `next` instead. If the
 * requested window still has steps to record, it is moved by the same difference.
 */
void arm_renumber(struct arm *a, uint64_t before, uint64_t next);

/*
 * Requests a window of `n` recorded steps (0: as many as the schedule records at a time). `next` is
 * the first step that has not begun. Warm-up begins with the later one of `next` and `from`. If the
 * previous window still has steps to record, that window is extended instead. Returns the window
 * that will be recorded.
 */
struct arm_window arm_ask(struct arm *a, uint64_t next, uint64_t from, uint64_t n);

/* Returns whether the flight recorder records step `number`. */
bool arm_is_flying(const struct arm *a, uint64_t number);

/* Returns whether step `number` is skipped, used as warm-up or recorded. */
enum sched_action arm_action(const struct arm *a, uint64_t number);

/* Returns whether step `number` belongs to a requested window, warm-up included. */
bool arm_is_asked(const struct arm *a, uint64_t number);

#endif
