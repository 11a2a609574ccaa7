/*
 * Examines the iterations of a level more closely than levels_iterations.c: whether they contain a
 * tail, after how many of them the same work occurs again, and what occurs between the first and
 * the last one. Runs in the collector.
 */
#include "core/steps/levels_search.h"

#include <string.h>

/*
 * A tail (see search_has_tail()) consists of at least this many launches. A single launch after the
 * backward pass may be the running sum of the loss.
 */
#define TAIL_CALLS 2u
/*
 * The longest round of differing iterations that is searched for. Iterations that are one round
 * apart must have a share of events in common of at least SAME_WORK, and by ROUND_ADVANTAGE more
 * than neighbouring iterations.
 */
#define MAX_ROUND	4u
#define ROUND_ADVANTAGE 0.1
#define SAME_WORK	0.9

/*
 * Returns the number of the first token that did not occur until the backward thread had begun.
 * Tokens are numbered in the order of their first occurrence. So if the main thread launches this
 * token or a higher one, the launch does not belong to a forward pass.
 */
static uint32_t search_first_late_token(const struct search *q, uint32_t backward)
{
	const struct levels_store *s = q->store;
	uint32_t n_tokens = 0;
	for (uint32_t i = 0; i < q->index->end; i++) {
		if (s->events[i].thread == backward && !(s->events[i].hints & LEVEL_COPY))
			break;
		if (s->events[i].token >= n_tokens)
			n_tokens = s->events[i].token + 1;
	}
	return s->n_forgotten ? UINT32_MAX : n_tokens;
}

/* State of the search for tails; it continues from one iteration to the next. */
struct tail {
	uint32_t home, backward, first_late;
	/* no input has been copied since the backward thread's last launch */
	bool is_after_backward;
	uint32_t length; /* number of launches of the home thread since that launch */
};

/*
 * Returns whether the events [begin, end), which are one of `n` iterations, contain a tail. Ignores
 * launches that occur only a few times, because they do not belong to an optimizer.
 */
static bool tail_in(const struct search *q, struct tail *t, uint32_t begin, uint32_t end,
		    uint32_t n)
{
	const struct levels_stored *events = q->store->events;
	bool has = false;
	uint32_t n_late = 0;
	for (uint32_t i = begin; i < end; i++) {
		bool is_own = events[i].thread == t->home;
		if (events[i].hints & LEVEL_COPY) {
			if (!is_own || !(events[i].hints & LEVEL_H2D))
				continue;
			has |= t->is_after_backward && t->length >= TAIL_CALLS;
			t->is_after_backward = false;
		} else if (events[i].thread == t->backward) {
			t->is_after_backward = true;
			t->length = 0;
		} else if (is_own) {
			t->length++;
			n_late += events[i].token >= t->first_late &&
				  search_recurs(q, &events[i], n);
		}
	}
	return has || n_late >= TAIL_CALLS;
}

/*
 * Returns whether most iterations contain a tail, that is, work that may be an optimizer's. It is
 * work between the backward thread's last launch and the copy of the next batch; after a
 * micro-batch, that copy follows at once. Or it is work of the main thread that did not occur
 * before the first backward pass.
 */
static bool search_has_tail(const struct search *q, const uint32_t *at, uint32_t n)
{
	uint32_t n_with = 0;
	struct tail t = { .home = q->home, .backward = q->backward };
	t.first_late = search_first_late_token(q, t.backward);
	for (uint32_t k = 0; k + 1 < n; k++)
		n_with += tail_in(q, &t, at[k], at[k + 1], n - 1);
	return n_with >= MOST_ITERATIONS * (n - 1);
}

/*
 * How often something occurred, when it last did, and the longest time between two occurrences.
 * Times are event numbers.
 */
struct recurrence {
	uint32_t n, last, longest;
};

static void note_recurrence(struct recurrence *r, uint32_t first, uint32_t at)
{
	uint32_t quiet = at - (r->n ? r->last : first);
	r->longest = quiet > r->longest ? quiet : r->longest;
	r->last = at;
	r->n++;
}

/*
 * Returns whether something may belong to an outer loop, even if it has occurred only once so far.
 * If it has not occurred for more than twice the longest time between two occurrences, it does not
 * recur. Examples are the end of warm-up and a time measurement.
 */
static bool comes_back(const struct recurrence *r, uint32_t end)
{
	return r->n && end - r->last <= 2 * r->longest;
}

/*
 * Returns what occurs between the first and the last iteration: the hints of exchanges with the
 * host by the home thread, and LEVEL_THREADS if other threads launch trigrams that occur more than
 * twice. A trigram of an unrelated thread may occur twice by chance.
 */
static uint32_t search_inside(const struct search *q, const uint32_t *at, uint32_t n)
{
	static const uint32_t talk[] = { LEVEL_H2D, LEVEL_D2H, LEVEL_SYNCED };
	struct recurrence of_talk[sizeof(talk) / sizeof(*talk)] = { 0 };
	const struct levels_stored *events = q->store->events;
	uint32_t inside = 0;
	for (uint32_t i = at[0]; i < at[n - 1]; i++) {
		if (!search_is_own(q, &events[i])) {
			if (!(events[i].hints & LEVEL_COPY) &&
			    levels_index_count(q->index, events[i].trigram) > 2)
				inside |= LEVEL_THREADS;
			continue;
		}
		for (size_t t = 0; t < sizeof(talk) / sizeof(*talk); t++)
			if (events[i].hints & talk[t])
				note_recurrence(&of_talk[t], at[0], i);
	}
	for (size_t t = 0; t < sizeof(talk) / sizeof(*talk); t++)
		inside |= comes_back(&of_talk[t], at[n - 1]) ? talk[t] : 0;
	return inside;
}

/*
 * Returns how many events the iterations `k` and `k` + `lag` have in common, by token. `foreign`:
 * counts events of other threads only, else those of the iterations' own thread only. Sets `length`
 * to the numbers of such events in the two iterations.
 */
static uint32_t iterations_common(struct search *q, const uint32_t *at, uint32_t k, uint32_t lag,
				  bool foreign, uint32_t length[2])
{
	const struct levels_stored *events = q->store->events;
	uint32_t common = 0;
	length[0] = length[1] = 0;
	for (uint32_t i = at[k]; i < at[k + 1]; i++) {
		bool counts = search_is_own(q, &events[i]) != foreign;
		q->here[events[i].token] += counts;
		length[0] += counts;
	}
	for (uint32_t i = at[k + lag]; i < at[k + lag + 1]; i++) {
		if (search_is_own(q, &events[i]) == foreign)
			continue;
		length[1]++;
		if (q->here[events[i].token]) {
			q->here[events[i].token]--;
			common++;
		}
	}
	for (uint32_t i = at[k]; i < at[k + 1]; i++)
		q->here[events[i].token] = 0;
	return common;
}

/*
 * Returns the mean share of work that iterations at a distance of `lag` have in common. For the
 * iterations' own thread, the share is relative to the shorter iteration, because an evaluation
 * after a step does not make it a different step. For other threads, the share is relative to the
 * longer iteration, because an additional backward pass makes it a different step.
 */
static double search_alike(struct search *q, const struct levels_level *level, uint32_t lag)
{
	const uint32_t *at = levels_index_of(q->index, level->reference);
	uint32_t n = level->iterations - level->first_looked_at;
	double sum = 0;
	at += level->first_looked_at;
	memset(q->here, 0, q->store->tokens.used * sizeof(*q->here));
	for (uint32_t k = 0; k + lag < n; k++) {
		uint32_t own[2], other[2];
		uint32_t common = iterations_common(q, at, k, lag, false, own) +
				  iterations_common(q, at, k, lag, true, other);
		sum += (double)common / ((own[0] < own[1] ? own[0] : own[1]) +
					 (other[0] > other[1] ? other[0] : other[1]));
	}
	return n > lag ? sum / (n - lag) : 0;
}

/*
 * Returns after how many iterations the same work occurs again. This is above 1 if neighbouring
 * iterations differ.
 */
static uint32_t search_round(struct search *q, const struct levels_level *level)
{
	double best = search_alike(q, level, 1) + ROUND_ADVANTAGE;
	uint32_t round = 1;
	for (uint32_t lag = 2; lag <= MAX_ROUND && 2 * lag < level->iterations; lag++) {
		double alike = search_alike(q, level, lag);
		if (alike > best && alike >= SAME_WORK) {
			best = alike + ROUND_ADVANTAGE;
			round = lag;
		}
	}
	return round;
}

void search_look_for_tail(struct search *q, struct levels_level *level)
{
	const uint32_t *at = levels_index_of(q->index, level->reference);
	uint32_t first = level->first_looked_at;
	if (!level->threads)
		return;
	search_set_home(q, at, level->iterations + 1);
	level->tail = search_has_tail(q, at + first, level->iterations + 1 - first);
}

void search_look_closer(struct search *q, struct levels_level *level)
{
	const uint32_t *at = levels_index_of(q->index, level->reference);
	search_set_home(q, at, level->iterations + 1);
	level->round = search_round(q, level);
	search_count_odd(q, level);
	level->inside = search_inside(q, at, level->iterations + 1);
}
