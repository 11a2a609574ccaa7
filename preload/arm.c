/* See arm.h. */
#include "preload/arm.h"

void arm_start(struct arm *a, const struct schedule *schedule)
{
	*a = (struct arm){ .schedule = *schedule };
}

bool arm_is_off(const struct arm *a)
{
	return a->schedule.off;
}

bool arm_is_always(const struct arm *a)
{
	return a->schedule.always;
}

void arm_hold(struct arm *a)
{
	a->is_held = true;
}

void arm_locked(struct arm *a, uint64_t next)
{
	a->is_held = false;
	uint64_t first = schedule_first_armed(&a->schedule);
	if (!a->schedule.always && first != SCHEDULE_NEVER && next > first)
		a->shift = next - first;
}

/* Steps before the shift were over when their numbers became known, so the schedule's clock starts late by it. */
enum sched_action arm_action(const struct arm *a, uint64_t number)
{
	if (a->is_held || number < a->shift)
		return SCHED_NONE;
	return schedule_action(&a->schedule, number - a->shift);
}
