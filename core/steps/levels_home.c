/*
 * Determines which thread drives the iterations of a level, and which one runs the backward passes.
 */
#include "core/steps/levels_search.h"

bool search_is_own(const struct search *q, const struct levels_stored *e)
{
	return e->thread == q->home ||
	       q->index->form_threads[levels_store_form(q->store, e)] == LEVELS_ANY_THREAD;
}

bool search_recurs(const struct search *q, const struct levels_stored *e, uint32_t n)
{
	return 2 * q->index->form_counts[levels_store_form(q->store, e)] >= n;
}

/*
 * Returns, by majority vote, the thread that launches most of the recurring work outside thread
 * `own`. Returns `own` if there is no such work.
 */
static uint32_t search_busiest_other(const struct search *q, uint32_t own, const uint32_t *at,
				     uint32_t n)
{
	const struct levels_stored *events = q->store->events;
	uint32_t busiest = own, votes = 0;
	for (uint32_t i = at[0]; i < at[n - 1]; i++) {
		uint32_t form = levels_store_form(q->store, &events[i]);
		if (events[i].thread == own || events[i].hints & LEVEL_COPY ||
		    q->index->form_threads[form] == LEVELS_ANY_THREAD ||
		    !search_recurs(q, &events[i], n))
			continue;
		if (!votes)
			busiest = events[i].thread;
		votes += events[i].thread == busiest ? 1 : -1u;
	}
	return busiest;
}

/* Returns the first event of a thread. */
static uint32_t search_first(const struct search *q, uint32_t thread)
{
	uint32_t i = 0;
	while (i < q->index->end && q->store->events[i].thread != thread)
		i++;
	return i;
}

void search_set_home(struct search *q, const uint32_t *at, uint32_t n)
{
	uint32_t one = q->store->events[at[0]].thread;
	uint32_t other = search_busiest_other(q, one, at, n);
	bool swap = search_first(q, other) < search_first(q, one);
	q->home = swap ? other : one;
	q->backward = swap ? one : other;
}
