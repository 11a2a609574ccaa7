/*
 * Finds the backup of a step's anchor (core/runtime/iteration.h). If a program evaluates, logs or
 * takes a branch, the launches at the boundary may differ, so the anchor does not occur and the
 * step would be missed. The backup, a second trigram, then ends the step. It is a little before the
 * anchor: only steps contain what comes last in an iteration (a backward pass, an optimizer), while
 * an evaluation repeats what comes first. Runs in the collector.
 */
#include "core/steps/levels_find.h"

#include <math.h>
#include <stdlib.h>

/* Only this many of the latest iterations are examined. */
#define MAX_LOOKED_AT 64u
/*
 * The backup is at least this many launches before the anchor, because changes at the boundary
 * hardly reach that far. In small iterations it is a quarter of their launches.
 */
#define APART	    12u
#define NO_DISTANCE INT64_MAX
/*
 * With fewer iterations, the backup may be missing in one iteration more than the most frequent
 * trigram; with more, in one of 32 more.
 */
#define FEW_ITERATIONS 16u
/* The number of launches from backup to anchor may vary by 1/SPREAD_MOST of its median. */
#define SPREAD_MOST 4
/* The backup must occur in at least this share of the iterations. */
#define ITERATIONS_LEAST 0.66
/* From this many iterations on, a single longer one is taken for a log. */
#define ITERATIONS_OF_LOG 4u
/* This many iterations show about half of the variation between iterations. */
#define FEW_SHOW 6

struct backup {
	const struct levels_store *store;
	const struct levels_index *index;
	const uint32_t *anchors;	    /* events that complete the anchor */
	uint32_t begins[MAX_LOOKED_AT + 1]; /* for each of them, the first event of the trigram */
	uint32_t n;	      /* number of iterations: from anchors[k] to anchors[k + 1] */
	uint32_t least, most; /* allowed number of launches from backup to anchor */
};

/* Where a trigram is within the iterations. */
struct distance {
	uint32_t n_once; /* number of iterations in which the trigram occurs exactly once */
	int64_t usual;	 /* median number of launches from the trigram to the anchor */
};

/* Returns the first event of the trigram that event `at` completes. */
static uint32_t begin_of(const struct levels_store *s, uint32_t at)
{
	uint32_t thread = s->events[at].thread, i = at;
	for (uint32_t n = 1; n < TRIGRAM; n++)
		for (i -= i != 0; i && s->events[i].thread != thread;)
			i--;
	return i;
}

static void look_at_iterations(struct backup *b, uint32_t anchor, const struct levels_level *level)
{
	uint32_t calls_per_iteration = level->calls_per_iteration;
	uint32_t n = levels_index_count(b->index, anchor);
	b->anchors = levels_index_of(b->index, anchor);
	if (n > MAX_LOOKED_AT + 1) {
		b->anchors += n - MAX_LOOKED_AT - 1;
		n = MAX_LOOKED_AT + 1;
	}
	b->n = n ? n - 1 : 0;
	for (uint32_t k = 0; k < n; k++)
		b->begins[k] = begin_of(b->store, b->anchors[k]);
	b->least = calls_per_iteration / 4 < APART ? calls_per_iteration / 4 : APART;
	/*
	 * In noisy loops there are few trigrams to choose from, so allow a longer distance. Do not
	 * if iterations are as small as a layer: a distant trigram may then belong to an inner
	 * loop.
	 */
	bool are_few_left = level_is_noisy(level) && calls_per_iteration >= CALLS_OF_LAYER;
	b->most = are_few_left ? calls_per_iteration * 3 / 4 : calls_per_iteration / 2;
}

static struct distance distance_of(const struct backup *b, uint32_t trigram)
{
	const uint32_t *at = levels_index_of(b->index, trigram);
	uint32_t n = levels_index_count(b->index, trigram), i = 0;
	int64_t distances[MAX_LOOKED_AT];
	struct distance d = { .usual = NO_DISTANCE };
	while (i < n && at[i] <= b->anchors[0])
		i++;
	for (uint32_t k = 0; k < b->n; k++) {
		uint32_t first = i;
		while (i < n && at[i] <= b->anchors[k + 1])
			i++;
		if (i - first == 1 && at[first] < b->begins[k + 1])
			distances[d.n_once++] = (int64_t)b->anchors[k + 1] - at[first];
	}
	if (!d.n_once)
		return d;
	d.usual = levels_median(distances, d.n_once);
	return d;
}

static bool is_in_place(const struct backup *b, const struct distance *d)
{
	return d->usual >= b->least && d->usual <= b->most;
}

/*
 * Returns in how many iterations a backup must occur. This is nearly as many as the most frequent
 * trigram has, because by chance any trigram occurs in a few iterations.
 */
static uint32_t most_iterations(const struct backup *b, const struct levels_level *level)
{
	uint32_t most = 0;
	for (uint32_t m = 0; m < level->n_members; m++) {
		struct distance d = distance_of(b, level->members[m]);
		if (is_in_place(b, &d) && d.n_once > most)
			most = d.n_once;
	}
	uint32_t wanted = most - (most < FEW_ITERATIONS ? most != 0 : most / 32),
		 least = (uint32_t)ceil(ITERATIONS_LEAST * b->n);
	return wanted > least ? wanted : least;
}

/*
 * Returns whether the iteration is unusual, such as a step without its optimizer, or an evaluation.
 */
static bool is_far(int64_t launches, int64_t median)
{
	return llabs(launches - median) > median / SPREAD_MOST;
}

/*
 * Returns for how many launches after the backup to wait for the anchor: the longest wait seen,
 * plus a reserve, because the iterations seen do not show all variation. The reserve is the
 * difference between the longest and the shortest wait if there were FEW_SHOW iterations or fewer,
 * and a part of it if there were more. Without a reserve, a step could end some launches before its
 * anchor. If the anchor does not come at all, the step ends that much later, within the next one.
 *
 * The longest iteration may contain a log, so it is left out. In noisy loops, all that are much
 * longer or shorter than the median are left out instead. Returns the median if the rest still
 * varies much, or if many were left out: these are evaluations or inner loops, which are not worth
 * waiting for.
 */
static uint32_t patience(int64_t *launches, uint32_t n, bool is_noisy)
{
	int64_t median = levels_median(launches, n); /* sorts `launches` */
	uint32_t first = 0, last = n - 1 - (!is_noisy && n >= ITERATIONS_OF_LOG);
	while (is_noisy && is_far(launches[first], median))
		first++;
	while (is_noisy && is_far(launches[last], median))
		last--;
	bool are_many_far = is_noisy && (n - 1 - (last - first)) * SPREAD_MOST > n;
	int64_t longest = launches[last], spread = longest - launches[first];
	int64_t unseen = n <= FEW_SHOW ? spread : spread * FEW_SHOW / n;
	return (uint32_t)(spread <= median / SPREAD_MOST && !are_many_far ? longest + unseen
									  : median);
}

/*
 * Returns for how many launches after the backup to wait for the anchor. Counts the launches of the
 * anchor's thread only.
 */
static uint32_t launches_between(const struct backup *b, uint32_t trigram, bool is_noisy)
{
	const struct levels_stored *events = b->store->events;
	const uint32_t *at = levels_index_of(b->index, trigram);
	uint32_t n = levels_index_count(b->index, trigram), thread = events[b->anchors[0]].thread;
	uint32_t n_iterations = 0, i = 0;
	int64_t launches[MAX_LOOKED_AT];
	for (uint32_t k = 1; k <= b->n; k++) {
		while (i < n && at[i] <= b->anchors[k - 1])
			i++;
		if (i == n || at[i] > b->anchors[k])
			continue;
		launches[n_iterations] = 0;
		for (uint32_t e = at[i] + 1; e <= b->anchors[k]; e++)
			launches[n_iterations] += events[e].thread == thread;
		n_iterations++;
	}
	return n_iterations ? patience(launches, n_iterations, is_noisy) : 0;
}

/*
 * Returns half of the smallest number of launches that the anchor's thread makes from one anchor to
 * the next if the backup occurs in between. See `apart` in struct iteration_anchors.
 */
static uint32_t apart_of(const struct backup *b, uint32_t trigram)
{
	const struct levels_stored *events = b->store->events;
	const uint32_t *at = levels_index_of(b->index, trigram);
	uint32_t n = levels_index_count(b->index, trigram), thread = events[b->anchors[0]].thread;
	uint32_t i = 0, least = UINT32_MAX;
	for (uint32_t k = 1; k <= b->n; k++) {
		uint32_t launches = 0;
		while (i < n && at[i] <= b->anchors[k - 1])
			i++;
		if (i == n || at[i] > b->anchors[k])
			continue;
		for (uint32_t e = b->anchors[k - 1] + 1; e <= b->anchors[k]; e++)
			launches += events[e].thread == thread;
		least = launches < least ? launches : least;
	}
	return least == UINT32_MAX ? 0 : least / 2;
}

void levels_find_backup(const struct levels_store *s, const struct levels_index *x,
			const struct levels_level *level, uint32_t anchor, struct level_choice *out)
{
	struct backup b = { .store = s, .index = x };
	look_at_iterations(&b, anchor, level);
	/* Every iteration has an exchange, so an exchange needs no backup. */
	bool is_sure = anchor == LEVELS_EXCHANGE;
	/*
	 * Any thread of a pool may launch the anchor, so the launches of one thread from backup to
	 * anchor cannot be counted. An exchange is no launch of a thread.
	 */
	bool is_pool = !is_sure && x->form_threads[s->form_of_trigram[anchor]] == LEVELS_ANY_THREAD;
	uint32_t wanted = b.n && !is_pool && !is_sure ? most_iterations(&b, level) : 0;
	uint32_t found = 0;
	int64_t nearest = NO_DISTANCE;
	out->backup = 0;
	out->backup_within = 0;
	for (uint32_t m = 0; wanted && m < level->n_members; m++) {
		struct distance d = distance_of(&b, level->members[m]);
		if (!is_in_place(&b, &d) || d.n_once < wanted || d.usual >= nearest)
			continue;
		nearest = d.usual;
		found = level->members[m];
	}
	if (nearest == NO_DISTANCE)
		return;
	out->backup = s->trigrams.keys[found];
	out->backup_within = launches_between(&b, found, level_is_noisy(level));
	out->apart = apart_of(&b, found);
}

uint64_t levels_count_missed(const struct levels_store *s, const struct level_choice *c)
{
	uint64_t n = 0;
	uint32_t n_early = c->n_early_backups;
	bool waits = false;
	for (uint32_t i = 0; i < s->n && c->backup; i++) {
		uint64_t hash = levels_store_hash(s, &s->events[i], c->anchor);
		if (hash == c->anchor)
			waits = false;
		if (hash != c->backup)
			continue;
		if (n_early) {
			n_early--;
			continue;
		}
		n += waits;
		waits = true;
	}
	return n;
}

uint64_t levels_count_early(const struct levels_store *s, const struct level_choice *c)
{
	struct iteration_last last = { 0 };
	uint64_t n = 0;
	uint32_t at = 0;
	bool is_due = true;
	for (uint32_t i = 0; i < s->n && c->apart; i++) {
		const struct levels_stored *e = &s->events[i];
		uint64_t hash = levels_store_hash(s, e, c->anchor);
		at += e->thread == c->thread;
		is_due |= hash == c->backup;
		if (hash != c->anchor)
			continue;
		n += iteration_is_early(&last, c->apart, e->thread, at, is_due);
		is_due = false;
	}
	return n;
}
