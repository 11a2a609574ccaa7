/*
 * PROF_SCHEDULE: which steps are recorded, with the semantics of torch.profiler.schedule. Holds the
 * parsed schedule and returns the action of a step by its number. Pure arithmetic on the caller's
 * struct: any thread, no memory, no locks. Only schedule_parse() formats text, once at startup.
 */
#ifndef CORE_SCHEDULE_H
#define CORE_SCHEDULE_H

#include "core/runtime/err.h"
#include "core/runtime/kinds.h"

#include <stdbool.h>
#include <stdint.h>

/* Used when PROF_SCHEDULE is not set. */
#define SCHEDULE_DEFAULT "skip_first=10,wait=0,warmup=2,active=3,repeat=1"

#define SCHEDULE_NEVER UINT64_MAX

/*
 * After `skip_first` steps: cycles of `wait` skipped, `warmup` warm-up and `active` recorded steps,
 * `repeat` times (0: forever). `skip_first_wait` omits the wait of the first cycle.
 *
 * The flight recorder (`flight` not 0) records every step from the first recorded one on, keeps the
 * last `flight` of them and writes those when triggered. `active` is then how many more are written
 * after that, 0 if not given.
 */
struct schedule {
	bool off;    /* nothing is ever recorded */
	bool always; /* every step is recorded; the numbers below are unused */
	bool skip_first_wait;
	uint64_t skip_first, wait, warmup, active, repeat;
	uint64_t flight;
};

/*
 * Parses "always", "off" or "key=N,key=N...", keys in any order, flight=N among them. A missing key
 * gets torch's default where torch has one (skip_first=0, repeat=0, skip_first_wait=0), else
 * wait=0, warmup=0, active=1: steps that are not named are not skipped. Returns 0, or -EINVAL with
 * one line in `e` (may be NULL) and `out` unchanged.
 */
int schedule_parse(const char *text, struct schedule *out, struct err *e);

/* Returns the action of step `step`, counted from 0. */
enum sched_action schedule_action(const struct schedule *s, uint64_t step);

/* Returns the first step that is not SCHED_NONE, or SCHEDULE_NEVER. */
uint64_t schedule_first_recorded(const struct schedule *s);

/* Returns whether every step from `step` on is SCHED_NONE. */
bool schedule_done(const struct schedule *s, uint64_t step);

#endif
