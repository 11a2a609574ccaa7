/*
 * Examines the iterations of a level one by one: what they contain, and how similar they are
 * (core/steps/levels_search.h). Runs in the collector.
 */
#include "core/steps/levels_search.h"
#include "core/steps/levels_shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Factors on the score of a level whose iterations contain what can occur only once per step; see
 * search_weigh().
 */
#define WEIGHT_OPTIMIZER 50.0
#define WEIGHT_HOST	 2.0
/* Iterations that have a smaller share of events in common do not belong to one loop. */
#define MIN_ALIKE 0.5
/*
 * An exception to MIN_ALIKE: iterations that differ only by rare work, such as a checkpoint after
 * every second or third step. Each iteration is then similar to one of the two before it, and has
 * on average at least this share of its events in common with that one. If the rare work trains as
 * well, it makes other steps. So neighbouring iterations must have the same number of optimizer
 * launches, give or take 1/NEARLY.
 */
#define ALIKE_EITHER 0.66
#define NEARLY	     4
/*
 * If a smaller share of events comes in the same order as in the previous iteration, it is no loop.
 * Noise of 3 % of all kinds leaves a share of 0.6.
 */
#define MIN_ORDERED 0.4
/*
 * Only the latest iterations are examined: those within this many events, but at least this many.
 */
#define LATEST_EVENTS	  16384u
#define LATEST_ITERATIONS 9u
/*
 * If less than 1/SPARSE of the events belong to the level's trigrams, the iterations must be steady
 * (levels_shape.h).
 */
#define SPARSE 50u
/*
 * An iteration with optimizer launches is a step only if at least this share of its events had
 * occurred before the first optimizer launch. A loop over the parameters within the first optimizer
 * phase has only new events. A graph that was launched before that phase suffices as well, however
 * few calls it takes. A closure that the optimizer evaluates suffices, too: the history of L-BFGS
 * makes a thousand launches per evaluation.
 */
#define MIN_OLD 0.1
/*
 * If a smaller share of the iterations contains a backward pass, the backward pass does not belong
 * to the loop, but separates two runs of the loop.
 */
#define FEW_WITH_THREADS 0.34

/*
 * Share of pairs of neighbouring iterations that must be similar. Two of ten iterations may be odd,
 * and each of them differs from both of its neighbours.
 */
#define MOSTLY 0.66

/*
 * The first iterations may lack an optimizer if at least this many others have one. With
 * micro-batches, two iterations in a row never have one.
 */
#define OPTIMIZER_AGAIN 2u

/*
 * What an examination of all iterations of a level shows. Members with the prefix `with_` are
 * numbers of iterations.
 */
struct iterations {
	/*
	 * Sums over pairs of neighbouring iterations. alike: share of events in common. ordered:
	 * share of events that come in the same order.
	 */
	double alike, ordered;
	/*
	 * Sum like `alike`, but each iteration is compared with the more similar one of the two
	 * before it.
	 */
	double alike_either;
	uint32_t n_whole;     /* number of pairs with a share of at least ALIKE_WHOLE in common */
	uint32_t n_optimizer; /* number of optimizer launches of the last iteration examined */
	/* Iterations with about as many optimizer launches as the previous iteration. */
	uint32_t learns_alike;
	uint32_t with_work;	 /* iterations that launch anything but copies */
	uint32_t with_optimizer; /* iterations that are steps with an optimizer; see MIN_OLD */
	/* Number of iterations from the first step with an optimizer on. */
	uint32_t since_optimizer;
	uint32_t with_threads; /* iterations on two threads or more */
	/*
	 * Iterations in which their own thread copies to the device (with_fed), launches graphs
	 * (with_graph), copies to the host or waits (with_read), copies to the host (with_answer).
	 */
	uint32_t with_fed, with_graph, with_read, with_answer;
};

/*
 * Returns a pointer to the number of the last iteration that contains the six launches up to this
 * event: the three kernels of the event's form and the three before them on the same thread. If
 * there are only few kinds of kernels, three in a row often repeat in any order, but six hardly
 * ever do.
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

/* Returns which share of the longer one of two iterations is in common. */
static double share_of_longer(uint32_t common, uint32_t length, uint32_t other)
{
	return (double)common / (length > other ? length : other);
}

/* Returns whether the two numbers are equal, apart from a few lost launches. */
static bool is_near(uint32_t a, uint32_t b)
{
	return (a > b ? a - b : b - a) <= (a > b ? a : b) / NEARLY;
}

/*
 * Adds the iteration [begin, end) to `t`. `number` is the number of the iteration, from 1 on.
 * `lengths_before` are the lengths of the previous iteration and of the one before that; 0: there
 * is no such iteration.
 */
static void search_iteration(struct search *q, uint32_t number, uint32_t begin, uint32_t end,
			     const uint32_t lengths_before[2], struct iterations *t)
{
	const struct levels_stored *events = q->store->events;
	uint32_t common = 0, common_earlier = 0, n_optimizer = 0, n_work = 0, n_old = 0,
		 n_foreign = 0;
	uint32_t own_hints = 0, n_ordered = 0;
	bool has_old_graph = false;
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
	t->with_optimizer += n_optimizer && (has_old_graph || n_old >= MIN_OLD * (end - begin));
	t->since_optimizer += t->with_optimizer > 0;
	t->with_threads += n_foreign > 0;
	t->with_fed += (own_hints & LEVEL_H2D) != 0;
	t->with_graph += (own_hints & LEVEL_GRAPH) != 0;
	t->with_read += (own_hints & (LEVEL_D2H | LEVEL_SYNCED)) != 0;
	t->with_answer += (own_hints & LEVEL_D2H) != 0;
}

/* Examines the iterations between the `n` events at[]. */
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

/* Returns the median number of events per iteration. */
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
 * Returns the first one of the latest iterations, which are examined. Earlier ones would show the
 * same.
 */
static uint32_t first_of_latest(const uint32_t *at, uint32_t n)
{
	uint32_t first = 0, most = n > LATEST_ITERATIONS ? n - LATEST_ITERATIONS : 0;
	while (first < most && at[n - 1] - at[first] > LATEST_EVENTS)
		first++;
	return first;
}

/*
 * Returns whether most iterations have an optimizer phase. Up to half of them may lack one if these
 * are the first ones, because a loss scale that starts too high skips the optimizer.
 */
static bool has_optimizer(const struct iterations *t, uint32_t n)
{
	bool was_skipped = t->with_optimizer >= OPTIMIZER_AGAIN &&
			   t->with_optimizer == t->since_optimizer && 2 * t->since_optimizer >= n;
	return was_skipped || t->with_optimizer >= MOST_ITERATIONS * n;
}

/* Describes in `level` what is known without examining its iterations. */
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

/*
 * Examines what the iterations of the level contain. Returns the share of iterations that launch
 * anything.
 */
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
 * The score of a level is the number of its trigrams, times the square of the share that iterations
 * have in common, times a factor for what can occur only once per step. An optimizer runs once per
 * step: micro-batches and layers have none, and a loop over parameters within the optimizer has
 * nothing else. Copies and waits occur once per step more often than once per layer. A loop that
 * only copies, such as an upload of parameters, is not considered.
 */
bool search_weigh(struct search *q, uint32_t group, struct levels_level *level)
{
	const struct group *g = &q->groups[group];
	const uint32_t *at = levels_index_of(q->index, g->reference);
	search_describe(q, group, level);
	/*
	 * A group of few trigrams is a loop only in three cases. Either a few kernels are repeated,
	 * and all iterations are exactly the same. Or an optimizer of one or two launches follows
	 * several micro-batches, and the iterations have even lengths. Or a solver iterates until
	 * it converges, and then waits for the result.
	 */
	bool is_few = g->n_members < MIN_MEMBERS && g->n_members < level->calls_per_iteration;
	level->waited = !iterations_are_even(at, g->count, level->calls_per_iteration) &&
			iterations_are_waited(q->store->events, at, g->count);
	bool is_exact = is_few && !level->waited && iterations_are_regular(at, g->count);
	if (is_few && !is_exact && !level->waited &&
	    !iterations_are_even(at, g->count, level->calls_per_iteration))
		return false;
	bool is_sparse = g->n_members * SPARSE < level->calls_per_iteration;
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

/* Returns the group of TOKEN_EXCHANGE, or NO_GROUP if it does not occur often enough. */
static uint32_t group_of_exchange(const struct search *q)
{
	for (uint32_t i = 0; i < q->n_candidates; i++)
		if (q->candidates[i].trigram == LEVELS_EXCHANGE)
			return q->candidates[i].group;
	return NO_GROUP;
}

/*
 * Returns whether nothing is trained: the searched events contain no launch of an optimizer, and
 * the level's iterations have no backward pass.
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
	level->score = HUGE_VAL; /* makes the second, forgiving search unnecessary */
	return level->request_loop;
}
