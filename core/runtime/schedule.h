/*
 * PROF_SCHEDULE: which steps are recorded, with the meaning of torch.profiler.schedule. Owns the
 * parsed schedule and answers, for a step's number, what happens in it. Pure arithmetic on the
 * caller's struct: any thread, no memory, no locks; only schedule_parse() formats text, once at
 * start.
 */
#ifndef CORE_SCHEDULE_H
#define CORE_SCHEDULE_H

#include "core/runtime/err.h"
#include "core/runtime/record.h"

#include <stdbool.h>
#include <stdint.h>

/* What is used when PROF_SCHEDULE is not set at all. */
#define SCHEDULE_DEFAULT "skip_first=10,wait=0,warmup=2,active=3,repeat=1"

#define SCHEDULE_NEVER UINT64_MAX

/*
 * After `skip_first` steps, cycles of `wait` idle, `warmup` warming and `active` recorded steps,
 * `repeat` times (0: for ever). `skip_first_wait` leaves out the wait of the first cycle.
 *
 * The flight recorder (`flight` not 0) records every step from the first recorded one on; the last `flight` of them are kept, and
 * written when something asks for them. `active` is then how many more are written after that, 0 where it is not given.
 */
struct schedule {
	bool off;    /* nothing is ever recorded */
	bool always; /* every step is recorded; the numbers below mean nothing */
	bool skip_first_wait;
	uint64_t skip_first, wait, warmup, active, repeat;
	uint64_t flight;
};

/*
 * Reads "always", "off" or "key=N,key=N...", keys in any order, flight=N among them. A key left out has torch's own
 * default where torch has one (skip_first=0, repeat=0, skip_first_wait=0), else wait=0, warmup=0,
 * active=1: what is not named is not waited for. 0, or -EINVAL with one line in `e` (may be NULL)
 * and `out` untouched.
 */
int schedule_parse(const char *text, struct schedule *out, struct err *e);

/* What happens in step number `step`, counted from 0. */
enum sched_action schedule_action(const struct schedule *s, uint64_t step);

/* The first step that is not SCHED_NONE, or SCHEDULE_NEVER. */
uint64_t schedule_first_recorded(const struct schedule *s);

/* Whether every step from `step` on is SCHED_NONE. */
bool schedule_done(const struct schedule *s, uint64_t step);

#endif
