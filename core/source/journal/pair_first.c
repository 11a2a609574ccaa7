/*
 * See pair_first.h. Finds the first call after CUPTI was switched on. Assigns to it work without a
 * call if three things hold: the work has an id before CUPTI's first record of a call, it agrees
 * with the call, and no other such work agrees with it.
 */
#include "core/source/journal/pair_first.h"

#include "core/source/journal/pair_agree.h"

#include <stdlib.h>

struct first {
	struct pair_thread thread; /* the call's thread, with this call as the only one */
	uint32_t number;	   /* the call's number in the step */
};

static bool find_first(const struct pair_input *in, uint64_t on_ticks, struct first *first)
{
	uint64_t earliest = in->end_ticks;
	for (size_t i = 0; i < in->n_threads; i++) {
		const struct pair_thread *t = &in->threads[i];
		for (size_t k = 0; k < t->n_calls && t->calls[k].begin_ticks < earliest; k++) {
			const struct rec_call *call = &t->calls[k];
			if (call->begin_ticks < on_ticks || !in->expects_work(in->context, call))
				continue;
			earliest = call->begin_ticks;
			first->thread = *t;
			first->thread.calls = call;
			first->thread.n_calls = 1;
			first->number = t->first + (uint32_t)k;
		}
	}
	return earliest < in->end_ticks;
}

static bool has_work(const struct pair_input *in, const uint32_t *call_of, uint32_t number)
{
	for (size_t i = 0; i < in->n_works; i++)
		if (call_of[i] == number)
			return true;
	return false;
}

/*
 * Finds the correlation id of CUPTI's first record of a call since `on_ticks`. Ids grow and wrap
 * around at 2^32. Returns false if there is no record: then work of later calls may lack its record
 * too.
 */
static bool first_recorded(const struct pair_input *in, uint64_t on_ticks, uint32_t *correlation)
{
	const struct rec_api *earliest = NULL;
	for (size_t i = 0; i < in->n_apis; i++)
		if (in->apis[i].begin_ticks >= on_ticks &&
		    (!earliest || (int32_t)(in->apis[i].correlation - earliest->correlation) < 0))
			earliest = &in->apis[i];
	if (earliest)
		*correlation = earliest->correlation;
	return earliest;
}

/* Returns the work without a call whose id is before `limit`. The caller frees the array. */
static struct rec_gpu *list_unexplained(const struct pair_input *in, const uint32_t *call_of,
					uint32_t limit, size_t *n)
{
	struct rec_gpu *works = mem_resize(NULL, in->n_works * sizeof(*works));
	*n = 0;
	for (size_t i = 0; i < in->n_works; i++)
		if ((call_of[i] == PAIR_UNKNOWN || call_of[i] == PAIR_LATER) &&
		    (int32_t)(in->works[i].correlation - limit) < 0)
			works[(*n)++] = in->works[i];
	return works;
}

static void name_work(const struct pair_input *in, uint32_t correlation, uint32_t number,
		      uint32_t *call_of)
{
	for (size_t i = 0; i < in->n_works; i++)
		if (in->works[i].correlation == correlation)
			call_of[i] = number;
}

/* Returns the group that agrees with the call. Returns NULL if no group agrees, or several. */
static const struct group *find_agreeing(const struct sides *s)
{
	const struct group *found = NULL;
	for (size_t j = 0; s->calls.n && j < s->groups.n; j++) {
		if (!pair_agree(s, 0, j))
			continue;
		if (found)
			return NULL;
		found = &s->groups.at[j];
	}
	return found;
}

void pair_first(const struct pair_input *in, uint64_t on_ticks, uint32_t *call_of)
{
	struct first first;
	struct sides s;
	uint32_t limit;
	if (!find_first(in, on_ticks, &first) || has_work(in, call_of, first.number) ||
	    !first_recorded(in, on_ticks, &limit))
		return;
	struct pair_input alone = *in;
	struct rec_gpu *works = list_unexplained(in, call_of, limit, &alone.n_works);
	alone.works = works;
	alone.threads = &first.thread;
	alone.n_threads = 1;
	sides_list(&s, &alone);
	const struct group *found = find_agreeing(&s);
	if (found)
		name_work(in, found->first->correlation, first.number, call_of);
	sides_free(&s);
	free(works);
}
