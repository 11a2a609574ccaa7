/* See arm.h. */
#include "preload/arm.h"

void arm_start(struct arm *a, const struct schedule *schedule, bool may_be_asked, bool is_held)
{
	struct schedule usual;
	*a = (struct arm){ .schedule = *schedule,
			   .may_be_asked = may_be_asked,
			   .is_held = is_held };
	schedule_parse(SCHEDULE_DEFAULT, &usual, NULL);
	if (!schedule->off && !schedule->always && !schedule->flight)
		usual = *schedule;
	a->n_warmup = usual.warmup;
	a->n_active = usual.active;
}

bool arm_is_off(const struct arm *a)
{
	return a->schedule.off && !a->may_be_asked;
}

bool arm_is_always(const struct arm *a)
{
	return a->schedule.always;
}

bool arm_is_endless(const struct arm *a)
{
	return a->schedule.always || a->schedule.flight;
}

static enum sched_action scheduled(const struct arm *a, uint64_t number)
{
	if (a->schedule.always)
		return SCHED_RECORD;
	/* the schedule, which was moved by `shift` steps, has not begun yet */
	if (a->is_held || number < a->shift)
		return SCHED_NONE;
	return schedule_action(&a->schedule, number - a->shift);
}

static uint64_t window_end(const struct arm *a)
{
	return a->window.first + a->window.n;
}

/* Returns whether the requested window still has steps to record at step `number` or later. */
static bool is_to_come(const struct arm *a, uint64_t number)
{
	return number < window_end(a);
}

bool arm_is_asked(const struct arm *a, uint64_t number)
{
	return number + a->window.n_warmup >= a->window.first && is_to_come(a, number);
}

bool arm_is_done(const struct arm *a, uint64_t number)
{
	return !a->is_held && number >= a->shift &&
	       schedule_done(&a->schedule, number - a->shift) && !is_to_come(a, number);
}

static enum sched_action asked(const struct arm *a, uint64_t number)
{
	if (!arm_is_asked(a, number))
		return SCHED_NONE;
	if (number < a->window.first)
		return SCHED_WARMUP;
	return number + 1 < window_end(a) ? SCHED_RECORD : SCHED_RECORD_AND_SAVE;
}

/*
 * Returns the largest of the actions that apply. enum sched_action is ordered by how much an action
 * does, so the largest one includes the others.
 */
enum sched_action arm_action(const struct arm *a, uint64_t number)
{
	enum sched_action one = scheduled(a, number), other = asked(a, number),
			  least = a->is_opening ? SCHED_OPENING : SCHED_NONE;
	enum sched_action most = one > other ? one : other;
	return most > least ? most : least;
}

bool arm_is_flying(const struct arm *a, uint64_t number)
{
	return a->schedule.flight && scheduled(a, number) >= SCHED_RECORD;
}

static void lengthen(struct arm *a, uint64_t from, uint64_t n)
{
	uint64_t first = from > a->window.first ? from : a->window.first;
	if (first + n > window_end(a))
		a->window.n = first + n - a->window.first;
}

struct arm_window arm_ask(struct arm *a, uint64_t next, uint64_t from, uint64_t n)
{
	bool is_flying = arm_is_flying(a, next);
	if (!n)
		n = is_flying ? a->schedule.active : a->n_active;
	if (is_flying)
		return (struct arm_window){ .first = next, .n = n };
	if (from < next)
		from = next;
	if (is_to_come(a, next))
		lengthen(a, from, n);
	else
		a->window = (struct arm_window){ from + a->n_warmup, n, a->n_warmup };
	return a->window;
}

void arm_locked(struct arm *a, uint64_t next)
{
	uint64_t first = schedule_first_recorded(&a->schedule);
	a->is_held = false;
	if (!a->schedule.always && !a->schedule.flight && first != SCHEDULE_NEVER && next > first)
		a->shift = next - first;
}

void arm_locked_in_opening(struct arm *a)
{
	a->is_held = false;
}

void arm_hold(struct arm *a)
{
	a->is_held |= !a->schedule.flight;
}

void arm_skip(struct arm *a, uint64_t n)
{
	if (!a->schedule.always && !a->schedule.flight)
		a->shift += n;
}

void arm_take_back(struct arm *a, const struct arm *then, uint64_t next)
{
	struct arm_window asked = a->window;
	bool is_new = asked.n && (asked.first != then->window.first || asked.n != then->window.n);
	bool is_opening = a->is_opening;
	*a = *then;
	a->is_opening = is_opening;
	if (is_new)
		a->window = (struct arm_window){ next + asked.n_warmup, asked.n, asked.n_warmup };
}

void arm_renumber(struct arm *a, uint64_t before, uint64_t next)
{
	if (is_to_come(a, before))
		a->window.first += next - before;
	else
		a->window = (struct arm_window){ 0 };
}
