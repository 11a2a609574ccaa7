/* See learn_amid.h. */
#include "core/steps/learn_amid.h"

enum {
	PHASE_OVER = 8, /* launches and copies in a row without an optimizer's */
	/* Far more than a pass reads of other threads before the optimizer's: 6 MB. What is older is before the optimizer's phase. */
	HELD_MOST = 1 << 16,
};

void learn_amid_begin(struct learn_amid *a)
{
	learn_amid_end(a);
	a->is_on = true;
}

void learn_amid_end(struct learn_amid *a)
{
	vec_free(&a->held);
	*a = (struct learn_amid){ 0 };
}

bool learn_amid_hold(struct learn_amid *a, const struct learn_held *launch)
{
	if (a->held.n == HELD_MOST)
		a->held.n = 0;
	vec_push(&a->held, *launch);
	if (launch->event.hints & LEVEL_OPTIMIZER) {
		a->saw_optimizer = true;
		a->slot = launch->slot;
		a->n_behind = 0;
	} else if (a->saw_optimizer && launch->slot == a->slot) {
		if (!a->n_behind++)
			a->from_ns = launch->event.begin_ns;
		a->is_on = a->n_behind < PHASE_OVER;
	}
	return !a->is_on;
}

uint64_t learn_amid_count(const struct learn_amid *a, uint64_t hash)
{
	uint64_t n = 0;
	for (size_t i = 0; i < a->held.n; i++)
		n += a->held.at[i].hash == hash && a->held.at[i].event.begin_ns < a->from_ns;
	return n;
}
