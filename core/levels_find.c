/*
 * The levels of a program (core/levels.h says what one is): trigrams are grouped by strict
 * alternation, groups weighed. Runs in the collector. Its work is linear in the events but for
 * sorting: grouping has a budget of steps, and only the most promising levels are looked at turn by
 * turn.
 */
#include "core/levels_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Fewer occurrences than this say nothing. */
#define MIN_OCCURRENCES 4u
/* A trigram that covers less of the stretch belongs to a phase that is over or has just begun. */
#define MIN_COVERAGE 0.5
#define MAX_GROUPS   1024u
/* Trigrams of one level come equally often, but for a first turn that is different (an optimizer
 * makes its state) and the turn under way. */
#define MAX_COUNT_APART 2u
/* Groups that a trigram is compared with: programs have few loops of nearly the same count, noise
 * has hundreds. */
#define MAX_TRIED 64u
/* Levels looked at turn by turn, those with most trigrams first. */
#define MAX_WEIGHED 16u
/* Share of turns in which something must be for it to count as part of the loop: a first or last
 * turn may differ. */
#define MOST_TURNS 0.8
/* What can only happen once per step weighs this much more; see level_weigh(). */
#define WEIGHT_OPTIMIZER 50.0
#define WEIGHT_MARKED	 2.0
/* Share of a turn that the program must have done before its first optimizer launch, for the turn
 * to be a step with an optimizer phase. A loop over the parameters inside the first such phase has
 * only what is new. */
#define MIN_OLD 0.1
/* Second look, for streams with holes: violations of alternation that are forgiven, as a share of
 * the turns. */
#define FORGIVEN 0.1
/* The second look's level must explain this much more than the strict one's. */
#define FORGIVEN_ADVANTAGE 2.0

#define NO_GROUP UINT32_MAX

int levels_index_make(struct levels_index *x, const struct levels_store *s, uint32_t start,
		      uint32_t end)
{
	uint32_t n_trigrams = s->trigrams.used;
	*x = (struct levels_index){ .start = start, .end = end };
	x->offsets = calloc(n_trigrams + 2, sizeof(*x->offsets));
	x->positions = malloc((end - start + 1) * sizeof(*x->positions));
	if (!x->offsets || !x->positions) {
		levels_index_free(x);
		return -ENOMEM;
	}
	/* Counted two places up, summed, then filled one place up: in the end offsets[t] is where t
	 * begins. */
	for (uint32_t i = start; i < end; i++)
		x->offsets[s->events[i].trigram + 2]++;
	for (uint32_t t = 0; t < n_trigrams; t++)
		x->offsets[t + 2] += x->offsets[t + 1];
	for (uint32_t i = start; i < end; i++)
		x->positions[x->offsets[s->events[i].trigram + 1]++] = i;
	return 0;
}

void levels_index_free(struct levels_index *x)
{
	free(x->offsets);
	free(x->positions);
	*x = (struct levels_index){ 0 };
}

void levels_level_free(struct levels_level *level)
{
	free(level->members);
	*level = (struct levels_level){ 0 };
}

static int compare_values(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

int64_t levels_median(int64_t *values, uint32_t n)
{
	qsort(values, n, sizeof(*values), compare_values);
	return values[n / 2];
}

/* A trigram that comes often enough, and its group. */
struct candidate {
	uint32_t trigram, count, group;
};

struct group {
	uint32_t reference, count, n_members;
};

struct search {
	const struct levels_store *store;
	const struct levels_index *index;
	struct candidate *candidates;
	uint32_t n_candidates;
	struct group *groups;
	uint32_t n_groups;
	uint32_t *before, *here; /* by token: how often in the turn before, and in this one */
	double forgiven;
	uint64_t budget; /* steps of comparison left */
};

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
		if (at[count - 1] - at[0] >= MIN_COVERAGE * length)
			q->candidates[q->n_candidates++] = (struct candidate){ t, count, NO_GROUP };
	}
	qsort(q->candidates, q->n_candidates, sizeof(*q->candidates), compare_candidates);
}

/* Whether between two of `a` there is exactly one of `b`, with `allowed` exceptions. */
static bool search_alternates(struct search *q, const uint32_t *a, uint32_t n_a, const uint32_t *b,
			      uint32_t n_b, uint32_t allowed)
{
	uint32_t turn = 0, last_turn = 0;
	for (uint32_t i = 0; i < n_b; i++) {
		while (turn < n_a && a[turn] < b[i])
			turn++;
		if (i && turn - last_turn != 1 && !allowed--)
			return false;
		last_turn = turn;
		if (!q->budget--) {
			q->budget = 0;
			return false;
		}
	}
	return true;
}

static uint32_t search_allowed(const struct search *q, uint32_t count)
{
	return (uint32_t)(q->forgiven * count);
}

/* The group that a candidate belongs to. Groups stand in the order of falling counts, so the last
 * ones are nearest. */
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
	q->budget = 8ull * (q->index->end - q->index->start);
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

/* What a look at every turn of a level tells. */
struct turns {
	double alike;		 /* summed over pairs of neighbours */
	uint32_t with_work;	 /* turns that launch something */
	uint32_t with_optimizer; /* turns with an optimizer's launches, see MIN_OLD */
	uint32_t with_threads;	 /* turns on two threads or more */
};

static void search_turn(const struct search *q, uint32_t begin, uint32_t end,
			uint32_t before_length, struct turns *t)
{
	const struct levels_stored *events = q->store->events;
	uint32_t common = 0, n_optimizer = 0, n_work = 0, n_old = 0, n_foreign = 0;
	for (uint32_t i = begin; i < end; i++) {
		uint32_t token = events[i].token;
		common += ++q->here[token] <= q->before[token];
		n_optimizer += (events[i].hints & LEVEL_OPTIMIZER) != 0;
		n_work += !(events[i].hints & LEVEL_COPY);
		n_old += events[i].trigram < q->store->n_before_optimizer;
		n_foreign += events[i].thread != events[begin].thread;
	}
	if (before_length)
		t->alike += (double)common /
			    (before_length > end - begin ? before_length : end - begin);
	t->with_work += n_work > 0;
	t->with_optimizer += n_optimizer && n_old >= MIN_OLD * (end - begin);
	t->with_threads += n_foreign > 0;
}

static void search_turns(struct search *q, const uint32_t *at, uint32_t n, struct turns *t)
{
	const struct levels_stored *events = q->store->events;
	uint32_t n_tokens = q->store->tokens.used;
	memset(q->before, 0, n_tokens * sizeof(*q->before));
	memset(q->here, 0, n_tokens * sizeof(*q->here));
	*t = (struct turns){ 0 };
	for (uint32_t k = 0; k + 1 < n; k++) {
		search_turn(q, at[k], at[k + 1], k ? at[k] - at[k - 1] : 0, t);
		for (uint32_t i = k ? at[k - 1] : at[k]; i < at[k]; i++)
			q->before[events[i].token] = 0;
		uint32_t *swap = q->before;
		q->before = q->here;
		q->here = swap;
	}
}

/* Whether most occurrences of a trigram end with one of `hints`. */
static bool search_is_marked(const struct search *q, uint32_t trigram, uint32_t hints)
{
	const uint32_t *at = levels_index_of(q->index, trigram);
	uint32_t n = levels_index_count(q->index, trigram), n_marked = 0;
	for (uint32_t i = 0; i < n; i++)
		n_marked += (q->store->events[at[i]].hints & hints) != 0;
	return n_marked >= MOST_TURNS * n;
}

static bool search_has_mark(const struct search *q, uint32_t group, uint32_t hints)
{
	for (uint32_t i = 0; i < q->n_candidates; i++)
		if (q->candidates[i].group == group &&
		    search_is_marked(q, q->candidates[i].trigram, hints))
			return true;
	return false;
}

/*
 * The weight of a level: its trigrams, times the likeness of its turns (squared), times evidence.
 * An optimizer runs once per step while micro-batches and layers have none; a loop over parameters
 * inside the optimizer has nothing else. Copies and waits are once per step more often than once
 * per layer. A loop that only copies (uploading parameters) is none.
 */
static void search_weigh(struct search *q, uint32_t group, struct levels_level *level)
{
	const struct group *g = &q->groups[group];
	const uint32_t *at = levels_index_of(q->index, g->reference);
	struct turns t;
	search_turns(q, at, g->count, &t);
	*level = (struct levels_level){
		.reference = g->reference,
		.n_members = g->n_members,
		.turns = g->count - 1,
		.alike = t.alike / (g->count - 2),
		.coverage = (double)(at[g->count - 1] - at[0]) / (q->index->end - q->index->start),
		.optimizer = t.with_optimizer >= MOST_TURNS * (g->count - 1),
	};
	level->threads = t.with_threads >= MOST_TURNS * level->turns;
	level->fed = search_has_mark(q, group, LEVEL_H2D);
	level->marked = level->fed ||
			search_has_mark(q, group, LEVEL_D2H | LEVEL_GRAPH | LEVEL_SYNCED);
	double evidence = level->optimizer ? WEIGHT_OPTIMIZER : level->marked ? WEIGHT_MARKED : 1;
	level->score = t.with_work < MOST_TURNS * level->turns
			       ? 0
			       : g->n_members * level->alike * level->alike * evidence;
}

static bool level_same_period(const struct levels_level *a, const struct levels_level *b)
{
	uint32_t more = a->turns > b->turns ? a->turns : b->turns,
		 less = a->turns + b->turns - more;
	return more - less <= 1 + more / 10;
}

/* Weighs the groups with most trigrams; `best` gets the winner without its members, and its group's
 * number. */
static uint32_t search_best(struct search *q, struct levels_level *best)
{
	struct levels_level weighed[MAX_WEIGHED];
	uint32_t n = 0, winner = NO_GROUP;
	bool *done = calloc(q->n_groups + 1, sizeof(*done));
	*best = (struct levels_level){ 0 };
	while (done && n < MAX_WEIGHED && n < q->n_groups) {
		uint32_t next = NO_GROUP;
		for (uint32_t g = 0; g < q->n_groups; g++)
			if (!done[g] && (next == NO_GROUP ||
					 q->groups[g].n_members > q->groups[next].n_members))
				next = g;
		if (q->groups[next].n_members * WEIGHT_OPTIMIZER <= best->score / 2)
			break;
		done[next] = true;
		search_weigh(q, next, &weighed[n]);
		if (weighed[n].score > best->score) {
			*best = weighed[n];
			winner = next;
		}
		n++;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!level_same_period(&weighed[i], best) && weighed[i].score > best->runner_up)
			best->runner_up = weighed[i].score;
	free(done);
	return winner;
}

static int level_median_length(const struct levels_index *x, const struct levels_level *level,
			       uint32_t *median)
{
	const uint32_t *at = levels_index_of(x, level->reference);
	int64_t *lengths = malloc(level->turns * sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	for (uint32_t k = 0; k < level->turns; k++)
		lengths[k] = at[k + 1] - at[k];
	*median = (uint32_t)levels_median(lengths, level->turns);
	free(lengths);
	return 0;
}

/* Gives the winner what outlives the search. */
static int search_complete(const struct search *q, uint32_t group, struct levels_level *level)
{
	level->members = malloc(level->n_members * sizeof(*level->members));
	if (!level->members)
		return -ENOMEM;
	uint32_t n = 0;
	for (uint32_t i = 0; i < q->n_candidates; i++)
		if (q->candidates[i].group == group)
			level->members[n++] = q->candidates[i].trigram;
	return level_median_length(q->index, level, &level->calls_per_turn);
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
		.before = malloc((s->tokens.used + 1) * sizeof(*q.before)),
		.here = malloc((s->tokens.used + 1) * sizeof(*q.here)),
	};
	int rc = -ENOMEM;
	*best = (struct levels_level){ 0 };
	if (q.candidates && q.groups && q.before && q.here) {
		struct levels_level forgiving;
		search_candidates(&q);
		q.forgiven = FORGIVEN;
		search_groups(&q);
		search_best(&q, &forgiving);
		q.forgiven = 0;
		search_groups(&q);
		uint32_t group = search_best(&q, best);
		if (forgiving.score > FORGIVEN_ADVANTAGE * best->score) {
			q.forgiven = FORGIVEN;
			search_groups(&q);
			group = search_best(&q, best);
		}
		rc = group == NO_GROUP ? 0 : search_complete(&q, group, best);
		if (rc)
			levels_level_free(best);
	}
	free(q.candidates);
	free(q.groups);
	free(q.before);
	free(q.here);
	return rc;
}
