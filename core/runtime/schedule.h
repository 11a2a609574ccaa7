/*
 * PROF_SCHEDULE: decides which steps are recorded, with the semantics of torch.profiler.schedule.
 * The functions only compute on the caller's struct. They allocate no memory and take no locks, and
 * any thread may call them. Only schedule_parse(), which is called once at startup, formats text.
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
 * A parsed schedule. The first `skip_first` steps are skipped. Then cycles follow, each of which
 * has `wait` skipped steps, `warmup` warm-up steps and `active` recorded steps. There are `repeat`
 * cycles; 0: cycles until the program ends. `skip_first_wait` omits the skipped steps of the first
 * cycle.
 *
 * If `flight` is not 0, the flight recorder is used. It records every step from the first recorded
 * step on and keeps the last `flight` steps. When triggered, it writes the kept steps and the next
 * `active` steps (0 if not given).
 */
struct schedule {
	bool off;    /* the schedule records no step */
	bool always; /* every step is recorded; only the flight recorder uses the numbers below */
	bool skip_first_wait;
	uint64_t skip_first, wait, warmup, active, repeat;
	uint64_t flight;
};

/*
 * Parses "always", "off" or "key=N,key=N...". The keys, of which flight is one, may be in any
 * order. A missing key gets PyTorch's default if PyTorch has one (skip_first=0, repeat=0,
 * skip_first_wait=0). Otherwise it gets the value with which no steps are skipped (wait=0,
 * warmup=0, active=1). Returns 0, or -EINVAL with one line in `e` (may be NULL) and `out`
 * unchanged.
 */
int schedule_parse(const char *text, struct schedule *out, struct err *e);

/* Returns the action of step `step`, counted from 0. */
enum sched_action schedule_action(const struct schedule *s, uint64_t step);

/* Returns the first step whose action is not SCHED_NONE (a warm-up or recorded step), or
 * SCHEDULE_NEVER. */
uint64_t schedule_first_recorded(const struct schedule *s);

/* Returns the first step whose action is SCHED_RECORD or more, or SCHEDULE_NEVER. */
uint64_t schedule_first_active(const struct schedule *s);

/* Returns whether the action of every step from `step` on is SCHED_NONE. */
bool schedule_done(const struct schedule *s, uint64_t step);

#endif
