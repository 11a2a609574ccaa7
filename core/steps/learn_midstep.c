/* See learn_midstep.h. */
#include "core/steps/learn_midstep.h"

enum {
	PHASE_OVER = 8, /* launches and copies in a row without an optimizer's */
	/*
	 * Launches held: 6 MB. One pass reads far fewer launches of other threads before it reaches
	 * the optimizer's. So launches in excess of this are older than the optimizer's phase.
	 */
	MAX_HELD = 1 << 16,
};

void learn_midstep_begin(struct learn_midstep *a)
{
	learn_midstep_end(a);
	a->is_on = true;
}

void learn_midstep_end(struct learn_midstep *a)
{
	vec_free(&a->held);
	*a = (struct learn_midstep){ 0 };
}

bool learn_midstep_hold(struct learn_midstep *a, const struct learn_held *launch)
{
	if (a->held.n == MAX_HELD)
		a->held.n = 0;
	vec_push(&a->held, *launch);
	if (launch->event.hints & LEVEL_OPTIMIZER) {
		a->saw_optimizer = true;
		a->slot = launch->slot;
		a->n_after = 0;
	} else if (a->saw_optimizer && launch->slot == a->slot) {
		if (!a->n_after++)
			a->from_ns = launch->event.begin_ns;
		a->is_on = a->n_after < PHASE_OVER;
	}
	return !a->is_on;
}

uint64_t learn_midstep_count(const struct learn_midstep *a, uint64_t hash)
{
	uint64_t n = 0;
	for (size_t i = 0; i < a->held.n; i++)
		n += a->held.at[i].hash == hash && a->held.at[i].event.begin_ns < a->from_ns;
	return n;
}
