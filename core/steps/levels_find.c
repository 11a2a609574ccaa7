/*
 * Finds the levels of a program (core/steps/levels.h defines them): groups trigrams that strictly
 * alternate, and weighs the groups. Runs in the collector. The time is linear in the number of
 * events, apart from sorting: grouping has a budget of comparisons, and only the most promising
 * levels are examined iteration by iteration.
 */
#include "core/steps/levels_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A trigram with fewer occurrences does not show a loop. */
#define MIN_OCCURRENCES 3u
/*
 * A trigram whose occurrences cover a smaller share of the events belongs to a phase of the program
 * that has ended or has just begun.
 */
#define MIN_COVERAGE 0.5
#define MAX_GROUPS   1024u
/*
 * The counts of trigrams of one level differ by at most this. They may differ because the first
 * iteration differs (an optimizer creates its state) and the last one is incomplete.
 */
#define MAX_COUNT_APART 2u
/*
 * A trigram is compared with at most this many groups. Programs have few loops with nearly the same
 * count; noise has hundreds.
 */
#define MAX_TRIED 64u
/*
 * Groups are formed a second time for streams with missing events. This share of the iterations may
 * then violate the alternation.
 */
#define FORGIVEN 0.1
/*
 * Violations must be spread over all iterations, apart from this many. So trigrams that do not
 * alternate are rejected early.
 */
#define FORGIVEN_AT_ONCE 8u
/* The best level of that second search must have this many times the strict level's score. */
#define FORGIVEN_ADVANTAGE 2.0

/* Counts one event of the form, and notes its thread. */
static void index_note_form(struct levels_index *x, uint32_t form, const struct levels_stored *e)
{
	if (!x->form_counts[form]++)
		x->form_threads[form] = e->thread;
	else if (x->form_threads[form] != e->thread && !(e->hints & LEVELS_ONLY_COPIES))
		x->form_threads[form] = LEVELS_ANY_THREAD;
}

int levels_index_make(struct levels_index *x, const struct levels_store *s, uint32_t start,
		      uint32_t end)
{
	uint32_t n_trigrams = s->trigrams.used;
	*x = (struct levels_index){ .start = start, .end = end };
	x->offsets = calloc(n_trigrams + 2, sizeof(*x->offsets));
	x->positions = malloc(2 * (end - start + 1ul) * sizeof(*x->positions));
	x->form_counts = calloc(s->forms.used + 1, sizeof(*x->form_counts));
	x->form_threads = malloc((s->forms.used + 1) * sizeof(*x->form_threads));
	if (!x->offsets || !x->positions || !x->form_counts || !x->form_threads) {
		levels_index_free(x);
		return -ENOMEM;
	}
	/*
	 * A counting sort. First, offsets[t + 2] counts the occurrences of trigram t. The sums then
	 * make offsets[t + 1] the place where t begins. Filling in the positions moves offsets[t +
	 * 1] to the place where t ends, so that offsets[t] is where t begins.
	 */
	for (uint32_t i = start; i < end; i++) {
		index_note_form(x, levels_store_form(s, &s->events[i]), &s->events[i]);
		x->offsets[s->events[i].trigram + 2]++;
		x->offsets[LEVELS_EXCHANGE + 2] += levels_store_is(&s->events[i], LEVELS_EXCHANGE);
	}
	for (uint32_t t = 0; t < n_trigrams; t++)
		x->offsets[t + 2] += x->offsets[t + 1];
	for (uint32_t i = start; i < end; i++) {
		x->positions[x->offsets[s->events[i].trigram + 1]++] = i;
		if (levels_store_is(&s->events[i], LEVELS_EXCHANGE))
			x->positions[x->offsets[LEVELS_EXCHANGE + 1]++] = i;
	}
	return 0;
}

void levels_index_free(struct levels_index *x)
{
	free(x->offsets);
	free(x->positions);
	free(x->form_counts);
	free(x->form_threads);
	*x = (struct levels_index){ 0 };
}

void levels_level_free(struct levels_level *level)
{
	free(level->members);
	*level = (struct levels_level){ 0 };
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->trigram > y->trigram) - (x->trigram < y->trigram);
}

static void search_candidates(struct search *q)
{
	const struct levels_index *x = q->index;
	double length = x->end - x->start;
	for (uint32_t t = 0; t < q->store->trigrams.used; t++) {
		uint32_t count = levels_index_count(x, t);
		if (count < MIN_OCCURRENCES)
			continue;
		const uint32_t *at = levels_index_of(x, t);
		if (levels_span(x, at, count) >= MIN_COVERAGE * length)
			q->candidates[q->n_candidates++] = (struct candidate){ t, count, NO_GROUP };
	}
	qsort(q->candidates, q->n_candidates, sizeof(*q->candidates), compare_candidates);
}

static uint32_t search_allowed(const struct search *q, uint32_t count)
{
	return (uint32_t)(q->forgiven * count);
}

/*
 * Returns whether there is exactly one of `b` between two of `a`, with at most `allowed`
 * exceptions.
 */
static bool search_alternates(struct search *q, const uint32_t *a, uint32_t n_a, const uint32_t *b,
			      uint32_t n_b, uint32_t allowed)
{
	uint32_t iteration = 0, last_iteration = 0, n_exceptions = 0;
	for (uint32_t i = 0; i < n_b; i++) {
		while (iteration < n_a && a[iteration] < b[i])
			iteration++;
		if (i && iteration - last_iteration != 1 &&
		    (++n_exceptions > allowed ||
		     n_exceptions > search_allowed(q, i) + FORGIVEN_AT_ONCE))
			return false;
		last_iteration = iteration;
		if (!q->budget--) {
			q->budget = 0;
			return false;
		}
	}
	return true;
}

/*
 * Returns the group that a candidate belongs to, or NO_GROUP. Groups are sorted by falling counts,
 * so the groups at the end have the most similar counts.
 */
static uint32_t search_group_of(struct search *q, const struct candidate *c)
{
	const struct levels_index *x = q->index;
	uint32_t last = q->n_groups > MAX_TRIED ? q->n_groups - MAX_TRIED : 0;
	for (uint32_t g = q->n_groups; g-- > last;) {
		const struct group *group = &q->groups[g];
		uint32_t allowed = search_allowed(q, group->count);
		if (group->count - c->count > MAX_COUNT_APART + allowed)
			return NO_GROUP;
		if (search_alternates(q, levels_index_of(x, group->reference), group->count,
				      levels_index_of(x, c->trigram), c->count, allowed))
			return g;
	}
	return NO_GROUP;
}

static void search_groups(struct search *q)
{
	q->n_groups = 0;
	q->budget = 4ull * (q->index->end - q->index->start);
	for (uint32_t i = 0; i < q->n_candidates; i++) {
		struct candidate *c = &q->candidates[i];
		c->group = search_group_of(q, c);
		if (c->group == NO_GROUP && q->n_groups < MAX_GROUPS) {
			c->group = q->n_groups++;
			q->groups[c->group] = (struct group){ c->trigram, c->count, 0 };
		}
		if (c->group != NO_GROUP)
			q->groups[c->group].n_members++;
	}
}

/*
 * Returns whether a candidate is in the level's group and may end its iterations. An exchange may,
 * because the host computes the next input from what it has read, whatever else an iteration
 * contains. It may not if all iterations are the same, because their last launch is then a more
 * exact end. It may not if something is trained, because other loops then exchange data with the
 * host too.
 */
static bool is_member(const struct candidate *c, const struct levels_level *level)
{
	bool is_of_any = (level->request_loop || level->alike < EXACTLY_ALIKE) &&
			 !level->optimizer && !level->threads;
	return c->group == level->group && (c->trigram != LEVELS_EXCHANGE || is_of_any);
}

/*
 * Returns whether the level is noisy, and a candidate of another group occurs in nearly all of its
 * iterations. Such candidates become members because in a noisy loop chance decides which trigrams
 * occur in all of the few iterations seen.
 */
static bool is_nearly_member(struct search *q, const struct candidate *c,
			     const struct levels_level *level)
{
	const struct levels_index *x = q->index;
	uint32_t count = level->iterations + 1, allowed = (uint32_t)(FORGIVEN * count);
	uint32_t apart = count > c->count ? count - c->count : c->count - count;
	if (c->group == level->group || c->trigram == LEVELS_EXCHANGE || level->request_loop ||
	    !level_is_noisy(level) || apart > allowed)
		return false;
	return search_alternates(q, levels_index_of(x, level->reference), count,
				 levels_index_of(x, c->trigram), c->count, allowed);
}

/*
 * Fills in the members of the chosen level. The members outlive the search. Returns 0 or -ENOMEM.
 */
static int search_complete(struct search *q, struct levels_level *level)
{
	level->members = malloc((q->n_candidates + 1ul) * sizeof(*level->members));
	if (!level->members)
		return -ENOMEM;
	uint32_t n = 0;
	q->forgiven = FORGIVEN;
	q->budget = 2ull * (q->index->end - q->index->start);
	for (uint32_t i = 0; i < q->n_candidates; i++)
		if (is_member(&q->candidates[i], level) ||
		    is_nearly_member(q, &q->candidates[i], level))
			level->members[n++] = q->candidates[i].trigram;
	level->n_members = n;
	return 0;
}

int levels_find(const struct levels_store *s, const struct levels_index *x,
		struct levels_level *best)
{
	uint32_t room = s->trigrams.used + 1;
	struct search q = {
		.store = s,
		.index = x,
		.candidates = malloc(room * sizeof(*q.candidates)),
		.groups = malloc(MAX_GROUPS * sizeof(*q.groups)),
		.earlier = malloc((s->tokens.used + 1) * sizeof(*q.earlier)),
		.before = malloc((s->tokens.used + 1) * sizeof(*q.before)),
		.here = malloc((s->tokens.used + 1) * sizeof(*q.here)),
	};
	int rc = -ENOMEM;
	*best = (struct levels_level){ 0 };
	/* Twice as many slots as events, so that hashes of six launches rarely collide. */
	for (q.last_iteration_mask = 1023; q.last_iteration_mask < 2 * (x->end - x->start);)
		q.last_iteration_mask = q.last_iteration_mask * 2 + 1;
	q.last_iteration = malloc((q.last_iteration_mask + 1ul) * sizeof(*q.last_iteration));
	if (q.candidates && q.groups && q.earlier && q.before && q.here && q.last_iteration) {
		struct levels_level forgiving;
		search_candidates(&q);
		q.forgiven = FORGIVEN;
		search_groups(&q);
		search_choose(&q, &forgiving);
		q.forgiven = 0;
		search_groups(&q);
		uint32_t group = search_choose(&q, best);
		/* In a noisy loop, the strict search may find no members but the exchanges. */
		bool is_of_more = best->request_loop && forgiving.exchanges &&
				  !forgiving.request_loop;
		if (is_of_more || forgiving.score > FORGIVEN_ADVANTAGE * best->score) {
			q.forgiven = FORGIVEN;
			search_groups(&q);
			group = search_choose(&q, best);
		}
		rc = group == NO_GROUP ? 0 : search_complete(&q, best);
		if (rc)
			levels_level_free(best);
	}
	free(q.candidates);
	free(q.groups);
	free(q.earlier);
	free(q.before);
	free(q.here);
	free(q.last_iteration);
	return rc;
}
