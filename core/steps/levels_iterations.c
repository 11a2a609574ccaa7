/*
 * Examines the iterations of a level one by one (core/steps/levels_search.h): what they contain,
 * and how alike they are. Runs in the collector.
 */
#include "core/steps/levels_search.h"
#include "core/steps/levels_shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What can occur only once per step weighs more; see search_weigh(). */
#define WEIGHT_OPTIMIZER 50.0
#define WEIGHT_HOST	 2.0
/* Iterations that share less do not belong to one loop. */
#define MIN_ALIKE 0.5
/*
 * ...unless they differ only by rare work, like a checkpoint after every second or third step: then
 * two iterations in three are like one of the two before. It does not apply if the additional work
 * trains more: then these are other steps.
 */
#define ALIKE_EITHER 0.66
#define NEARLY	     4
/* The same launches in any order are not a loop either: noise of 3 % of all kinds leaves 0.6. */
#define MIN_ORDERED 0.4
/* Iterations examined: the latest ones with this many events, but at least this many iterations. */
#define LATEST_EVENTS	  16384u
#define LATEST_ITERATIONS 9u
/* A single launch after the backward pass may be the loss's running sum. */
#define TAIL_CALLS 2u
/*
 * The longest round of differing iterations that is searched for. Rounds must be this much more
 * alike than iterations, and have SAME_WORK in common.
 */
#define MAX_ROUND	4u
#define ROUND_ADVANTAGE 0.1
#define SAME_WORK	0.9
/*
 * If less than one launch in this many belongs to the level's trigrams, iterations must be steady
 * (levels_shape.h).
 */
#define SPARSE 50u
/*
 * Share of an iteration's launches that occurred before the first optimizer launch, for the
 * iteration to be a step with an optimizer phase. A loop over the parameters within the first such
 * phase has only new ones. A graph launched before it counts as much, however few calls it takes.
 * So does a closure that the optimizer itself evaluates, like L-BFGS, whose history makes a
 * thousand launches per evaluation.
 */
#define MIN_OLD 0.1
/* If a smaller share of iterations has a backward pass, it separates two rounds of them. */
#define FEW_WITH_THREADS 0.34

/*
 * Share of pairs of neighbouring iterations. Of ten iterations, two may be odd; each of them
 * differs from both its neighbours.
 */
#define MOSTLY 0.66

/* With micro-batches, two iterations in a row never have an optimizer. */
#define OPTIMIZER_AGAIN 2u

/* What examining every iteration of a level shows. */
struct iterations {
	/* Summed over pairs of neighbours: share of common launches, share of common trigrams. */
	double alike, ordered;
	/* Like alike, with the more similar one of the two iterations before. */
	double alike_either;
	uint32_t n_whole;     /* pairs that are as alike as ALIKE_WHOLE */
	uint32_t n_optimizer; /* optimizer launches of the last iteration */
	/* Iterations with about as many optimizer launches as the previous one. */
	uint32_t learns_alike;
	uint32_t with_work;	  /* iterations that launch something */
	uint32_t with_optimizer;  /* iterations with optimizer launches; see MIN_OLD */
	uint32_t since_optimizer; /* iterations from the first such one on */
	uint32_t with_threads;	  /* iterations on two threads or more */
	/*
	 * Iterations whose own thread copies to the device; launches graphs; copies back or waits;
	 * copies back.
	 */
	uint32_t with_fed, with_graph, with_read, with_answer;
};

/*
 * Returns where the last iteration is stored that had the same six launches in a row: this event's
 * three kernels and the three before them on its thread. Kernels of few kinds, in any order, often
 * repeat three in a row, but hardly ever six.
 */
static uint32_t *search_last_iteration(struct search *q, const struct levels_stored *e)
{
	uint32_t *before = q->forms_before[e->thread % SEARCH_THREADS];
	uint32_t form = levels_store_form(q->store, e);
	uint64_t six = token_pair(before[0], form);
	before[0] = before[1];
	before[1] = before[2];
	before[2] = form;
	return &q->last_iteration[token_fold(six ^ TOKEN_K0, TOKEN_K1) & q->last_iteration_mask];
}

static double share_of_longer(uint32_t common, uint32_t length, uint32_t other)
{
	return (double)common / (length > other ? length : other);
}

/* Whether the counts are about equal, apart from a few lost launches. */
static bool is_near(uint32_t a, uint32_t b)
{
	return (a > b ? a - b : b - a) <= (a > b ? a : b) / NEARLY;
}

/*
 * `number`: of the iteration, from 1. `lengths_before`: of the previous iteration and the one
 * before it; 0: there is none.
 */
static void search_iteration(struct search *q, uint32_t number, uint32_t begin, uint32_t end,
			     const uint32_t lengths_before[2], struct iterations *t)
{
	const struct levels_stored *events = q->store->events;
	uint32_t common = 0, common_earlier = 0, n_optimizer = 0, n_work = 0, n_old = 0,
		 n_foreign = 0;
	uint32_t own_hints = 0, n_ordered = 0;
	bool has_old_graph = false, reevaluates = false;
	for (uint32_t i = begin; i < end; i++) {
		uint32_t kernel = levels_store_kernel(q->store, &events[i]);
		bool is_copy = events[i].hints & LEVEL_COPY;
		common += ++q->here[kernel] <= q->before[kernel];
		common_earlier += q->here[kernel] <= q->earlier[kernel];
		n_optimizer += (events[i].hints & LEVEL_OPTIMIZER) != 0;
		n_work += !is_copy;
		bool is_old = levels_store_form(q->store, &events[i]) <
			      q->store->n_before_optimizer;
		n_old += is_old;
		has_old_graph |= is_old && events[i].hints & LEVEL_GRAPH;
		reevaluates |= (events[i].hints & LEVEL_REEVALUATION) != 0;
		/* a thread that only copies is a loader */
		bool is_own = search_is_own(q, &events[i]);
		n_foreign += !is_copy && !is_own && search_recurs(q, &events[i], q->iterations);
		uint32_t *last = search_last_iteration(q, &events[i]);
		n_ordered += *last + 1 >= number;
		*last = number;
		own_hints |= is_own ? events[i].hints : 0;
	}
	if (lengths_before[0]) {
		double alike = share_of_longer(common, end - begin, lengths_before[0]),
		       alike_earlier =
			       share_of_longer(common_earlier, end - begin, lengths_before[1]);
		t->ordered += (double)n_ordered / (end - begin);
		t->alike += alike;
		t->n_whole += alike >= ALIKE_WHOLE;
		t->alike_either += alike > alike_earlier ? alike : alike_earlier;
		t->learns_alike += is_near(n_optimizer, t->n_optimizer);
	}
	t->n_optimizer = n_optimizer;
	t->with_work += n_work > 0;
	t->with_optimizer += n_optimizer &&
			     (has_old_graph || reevaluates || n_old >= MIN_OLD * (end - begin));
	t->since_optimizer += t->with_optimizer > 0;
	t->with_threads += n_foreign > 0;
	t->with_fed += (own_hints & LEVEL_H2D) != 0;
	t->with_graph += (own_hints & LEVEL_GRAPH) != 0;
	t->with_read += (own_hints & (LEVEL_D2H | LEVEL_SYNCED)) != 0;
	t->with_answer += (own_hints & LEVEL_D2H) != 0;
}

static void search_iterations(struct search *q, const uint32_t *at, uint32_t n,
			      struct iterations *t)
{
	const struct levels_stored *events = q->store->events;
	uint32_t n_tokens = q->store->tokens.used;
	memset(q->earlier, 0, n_tokens * sizeof(*q->earlier));
	memset(q->before, 0, n_tokens * sizeof(*q->before));
	memset(q->here, 0, n_tokens * sizeof(*q->here));
	memset(q->last_iteration, 0, (q->last_iteration_mask + 1ul) * sizeof(*q->last_iteration));
	*t = (struct iterations){ 0 };
	for (uint32_t k = 0; k + 1 < n; k++) {
		const uint32_t lengths_before[] = { k ? at[k] - at[k - 1] : 0,
						    k > 1 ? at[k - 1] - at[k - 2] : 0 };
		search_iteration(q, k + 1, at[k], at[k + 1], lengths_before, t);
		for (uint32_t i = at[k] - lengths_before[0] - lengths_before[1];
		     i < at[k] - lengths_before[0]; i++)
			q->earlier[levels_store_kernel(q->store, &events[i])] = 0;
		uint32_t *oldest = q->earlier;
		q->earlier = q->before;
		q->before = q->here;
		q->here = oldest;
	}
}

/*
 * Returns the first token that occurred only after the backward thread had begun. If the main
 * thread launches it or a later one, that is not part of a forward pass.
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

struct tail {
	uint32_t home, backward, first_late;
	bool is_after_backward; /* no input since the backward thread's last launch */
	uint32_t length;	/* launches since then */
};

/*
 * Whether the events [begin, end), one of `n` iterations, contain a tail. Launches that occur only
 * a few times do not belong to an optimizer.
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
 * Whether each iteration contains what an optimizer does: work between the backward thread's last
 * launch and the next batch's copy (a micro-batch's copy follows at once), or work of the main
 * thread that did not occur before the first backward pass.
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

/* How often something occurred, and the longest quiet period before an occurrence, in events. */
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
 * Whether it may belong to an outer loop, even if it occurred only once so far. After a quiet
 * period twice as long as ever before, it does not recur: the end of warm-up, a time measurement.
 */
static bool comes_back(const struct recurrence *r, uint32_t end)
{
	return r->n && end - r->last <= 2 * r->longest;
}

/*
 * Finds what is between the first and the last iteration: whether their own thread talks to the
 * host, and whether other threads launch what occurs more than twice. Trigrams of unrelated threads
 * occur twice by chance.
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

static uint32_t median_length(const uint32_t *at, uint32_t n)
{
	int64_t *lengths = malloc(n * sizeof(*lengths));
	if (!lengths)
		return 1;
	for (uint32_t k = 0; k + 1 < n; k++)
		lengths[k] = at[k + 1] - at[k];
	uint32_t median = (uint32_t)levels_median(lengths, n - 1);
	free(lengths);
	return median;
}

/*
 * Counts the events by token that the iterations k and k + lag have in common. `foreign`: of other
 * threads than the iterations' own, else of that one.
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
 * Returns the mean share of work that iterations `lag` apart have in common. For the own thread it
 * is relative to the shorter one: an evaluation after one step does not make it a different step.
 * An additional backward pass does.
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

/* Returns after how many iterations the same work occurs again: above 1 if neighbours differ. */
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

/* Returns the first of the latest iterations to examine; earlier ones say the same. */
static uint32_t first_of_latest(const uint32_t *at, uint32_t n)
{
	uint32_t first = 0, most = n > LATEST_ITERATIONS ? n - LATEST_ITERATIONS : 0;
	while (first < most && at[n - 1] - at[first] > LATEST_EVENTS)
		first++;
	return first;
}

/*
 * Whether most iterations have an optimizer phase; or up to half lack one, if these are the first
 * ones: a loss scale that starts too high skips it.
 */
static bool has_optimizer(const struct iterations *t, uint32_t n)
{
	bool was_skipped = t->with_optimizer >= OPTIMIZER_AGAIN &&
			   t->with_optimizer == t->since_optimizer && 2 * t->since_optimizer >= n;
	return was_skipped || t->with_optimizer >= MOST_ITERATIONS * n;
}

static void search_describe(struct search *q, uint32_t group, struct levels_level *level)
{
	const struct group *g = &q->groups[group];
	const uint32_t *at = levels_index_of(q->index, g->reference);
	*level = (struct levels_level){
		.group = group,
		.reference = g->reference,
		.n_members = g->n_members,
		.iterations = g->count - 1,
		.calls_per_iteration = median_length(at, g->count),
		.coverage = (double)levels_span(q->index, at, g->count) /
			    (q->index->end - q->index->start),
	};
}

/* Examines what the level's iterations contain. Returns the share of those that launch anything. */
static double search_look_at_iterations(struct search *q, struct levels_level *level)
{
	const uint32_t *at = levels_index_of(q->index, level->reference);
	struct iterations t;
	search_set_home(q, at, level->iterations + 1);
	q->iterations = level->iterations;
	level->first_looked_at = first_of_latest(at, level->iterations + 1);
	uint32_t n = level->iterations - level->first_looked_at;
	search_iterations(q, at + level->first_looked_at, n + 1, &t);
	level->alike = t.alike / (n - 1);
	level->mostly_alike = t.n_whole >= MOSTLY * (n - 1);
	level->has_rare_work = t.alike_either >= ALIKE_EITHER * (n - 1) &&
			       t.learns_alike >= MOST_ITERATIONS * (n - 1);
	level->ordered = t.ordered / (n - 1);
	level->optimizer = has_optimizer(&t, n);
	level->threads = t.with_threads >= MOST_ITERATIONS * n;
	level->rarely_threaded = t.with_threads < FEW_WITH_THREADS * n;
	level->fed = t.with_fed >= MOST_ITERATIONS * n;
	level->graph = t.with_graph >= MOST_ITERATIONS * n;
	level->read = t.with_read >= MOST_ITERATIONS * n;
	level->answered = t.with_answer >= MOST_ITERATIONS * n;
	level->talks_to_host = level->fed || level->read || level->graph;
	return (double)t.with_work / n;
}

/*
 * Weighs a level: its trigrams, times the squared likeness of its iterations, times evidence. An
 * optimizer runs once per step, while micro-batches and layers have none, and a loop over
 * parameters within the optimizer has nothing else. Copies and waits occur once per step more often
 * than once per layer. A loop that only copies (uploading parameters) is not considered.
 */
bool search_weigh(struct search *q, uint32_t group, struct levels_level *level)
{
	const struct group *g = &q->groups[group];
	const uint32_t *at = levels_index_of(q->index, g->reference);
	search_describe(q, group, level);
	/*
	 * A few kernels repeated give few trigrams that occur once; then the order must be exact.
	 * An optimizer of one or two launches gives few as well; its iterations, after a number of
	 * micro-batches, have even lengths. So does a solver that iterates as long as it takes and
	 * then waits for the result.
	 */
	bool is_few = g->n_members < MIN_MEMBERS && g->n_members < level->calls_per_iteration &&
		      !search_has_whole_steps(q, level);
	level->waited = !iterations_are_even(at, g->count, level->calls_per_iteration) &&
			iterations_are_waited(q->store->events, at, g->count);
	bool is_exact = is_few && !level->waited && iterations_are_regular(at, g->count);
	if (is_few && !is_exact && !level->waited &&
	    !iterations_are_even(at, g->count, level->calls_per_iteration))
		return false;
	bool is_sparse = g->n_members * SPARSE < level->calls_per_iteration &&
			 !search_has_whole_steps(q, level);
	if (is_sparse && !iterations_are_steady(q->store->events, at, g->count))
		return false;
	if (search_look_at_iterations(q, level) < MOST_ITERATIONS)
		return false;
	double evidence = level->optimizer	 ? WEIGHT_OPTIMIZER
			  : level->talks_to_host ? WEIGHT_HOST
						 : 1;
	level->score = g->n_members * level->alike * level->alike * evidence;
	bool is_request = level->fed && level->read && g->n_members >= MIN_MEMBERS;
	bool is_alike = level->alike >= MIN_ALIKE || level->has_rare_work;
	return !iterations_are_burst(level, at[g->count - 1] - at[0]) &&
	       (is_request || ((is_exact ? level->alike >= EXACTLY_ALIKE : is_alike) &&
			       level->ordered >= MIN_ORDERED));
}

/* ---- An exchange with the host in each iteration ---- */

/* Returns the group of TOKEN_EXCHANGE, or NO_GROUP. */
static uint32_t group_of_exchange(const struct search *q)
{
	for (uint32_t i = 0; i < q->n_candidates; i++)
		if (q->candidates[i].trigram == LEVELS_EXCHANGE)
			return q->candidates[i].group;
	return NO_GROUP;
}

/*
 * Whether nothing is trained in the stretch: there are no launches of an optimizer or a backward
 * pass.
 */
static bool is_inference(const struct search *q, const struct levels_level *level)
{
	const struct levels_stored *events = q->store->events;
	for (uint32_t i = q->index->start; i < q->index->end; i++)
		if (events[i].hints & LEVEL_OPTIMIZER)
			return false;
	return !level->threads;
}

bool search_find_request_loop(struct search *q, struct levels_level *level)
{
	uint32_t g = group_of_exchange(q);
	if (g == NO_GROUP)
		return false;
	search_describe(q, g, level);
	const uint32_t *at = levels_index_of(q->index, level->reference);
	level->request_loop =
		iterations_are_like(at, level->iterations + 1, level->calls_per_iteration) &&
		search_look_at_iterations(q, level) >= MOST_ITERATIONS && is_inference(q, level);
	level->score = HUGE_VAL; /* no second, forgiving search needed */
	return level->request_loop;
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
