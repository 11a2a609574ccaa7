/*
 * Finds what only some iterations of a level contain, and what an outer level's iterations contain
 * in addition to an inner one's (core/steps/levels_search.h). Both show work outside of a loop.
 * Runs in the collector.
 */
#include "core/steps/levels_search.h"

#include <stdlib.h>
#include <string.h>

/* More additional launches than this in an iteration are not due to chance. */
#define MANY_MORE 3
/*
 * The new kernels of an iteration are few if their launches are less than 1/FEW_NEW of its new
 * launches.
 */
#define FEW_NEW 4
/*
 * A kernel that occurs in fewer iterations than this may recur by chance. The distances between its
 * occurrences may deviate by 1/GAP_OFF from their median.
 */
#define RECURRENCES 4u
#define GAP_OFF	    4

/* Another network's step has at least this share of the launches of an iteration. */
#define OTHER_STEP 0.5

static uint32_t *iterations_of(const struct search *q, const struct levels_level *level)
{
	return (uint32_t *)levels_index_of(q->index, level->reference);
}

static uint32_t token_of_stored(const struct levels_store *s, const struct levels_stored *e)
{
	(void)s;
	return e->token;
}

/*
 * Counts in q->here in how many iterations of `level` each number occurs that `what` returns: a
 * token or a kernel. Sets q->before to the last such iteration, counted from 1.
 */
static void count_presence(struct search *q, const struct levels_level *level,
			   uint32_t (*what)(const struct levels_store *,
					    const struct levels_stored *))
{
	const uint32_t *at = iterations_of(q, level);
	memset(q->here, 0, q->store->tokens.used * sizeof(*q->here));
	memset(q->before, 0, q->store->tokens.used * sizeof(*q->before));
	for (uint32_t k = 0; k < level->iterations; k++)
		for (uint32_t i = at[k]; i < at[k + 1]; i++) {
			uint32_t token = what(q->store, &q->store->events[i]);
			q->here[token] += q->before[token] != k + 1;
			q->before[token] = k + 1;
		}
}

/*
 * Returns how many launches the iteration [begin, end) has in addition to a usual one. If the level
 * talks to the host, counts the launches of kernels that most iterations do not have, because a
 * loop inside the iteration may run longer. A bare loop may be part of anything, so for a bare loop
 * the calls in excess of the median are counted.
 */
static uint32_t count_more(const struct search *q, const struct levels_level *level, uint32_t begin,
			   uint32_t end)
{
	const struct levels_stored *events = q->store->events;
	uint32_t n_more = 0;
	if (!level->talks_to_host)
		return end - begin > level->calls_per_iteration
			       ? end - begin - level->calls_per_iteration
			       : 0;
	for (uint32_t i = begin; i < end; i++)
		n_more += !(events[i].hints & LEVEL_COPY) &&
			  2 * q->here[levels_store_kernel(q->store, &events[i])] <
				  level->iterations;
	return n_more;
}

/*
 * Counts the unusual iterations. Leaves out the first one, in which much is created once. If noise
 * adds a launch to many iterations, counts only those with many more launches.
 */
static uint32_t count_unusual(struct search *q, const struct levels_level *level)
{
	const uint32_t *at = levels_index_of(q->index, level->reference);
	uint32_t n_with = 0, n_with_many = 0, many = level->calls_per_iteration / 2;
	if (level->talks_to_host)
		count_presence(q, level, levels_store_kernel);
	for (uint32_t k = 1; k < level->iterations; k++) {
		uint32_t n_more = count_more(q, level, at[k], at[k + 1]);
		n_with += n_more > 0;
		n_with_many += n_more > MANY_MORE && n_more > many;
	}
	return n_with_many && n_with_many < UNUSUAL_ENOUGH ? n_with_many : n_with;
}

/*
 * Counts the iterations that also contain another network's step, like a GAN's generator step among
 * those of its critic. Such iterations have launches that most do not have, including an
 * optimizer's. If the level's optimizer is known only as a tail, launches of a backward pass count
 * instead of an optimizer's. Many other launches must be new too; they are not if the weights are
 * averaged now and then. Leaves out the first iteration, in which much is created once.
 */
static uint32_t count_other_steps(struct search *q, const struct levels_level *level)
{
	const struct levels_stored *events = q->store->events;
	const uint32_t *at = levels_index_of(q->index, level->reference);
	uint32_t n_with = 0;
	if (!level->optimizer && !level->tail)
		return 0;
	count_presence(q, level, token_of_stored);
	for (uint32_t k = 1; k < level->iterations; k++) {
		uint32_t n_new = 0, n_optimizer = 0, n_backward = 0;
		for (uint32_t i = at[k]; i < at[k + 1]; i++) {
			bool is_new = !(events[i].hints & LEVEL_COPY) &&
				      2 * q->here[events[i].token] < level->iterations;
			n_new += is_new;
			n_optimizer += is_new && events[i].hints & LEVEL_OPTIMIZER;
			n_backward += is_new && !search_is_own(q, &events[i]);
		}
		bool has_other = level->optimizer ? n_optimizer : n_backward >= CALLS_OF_BACKWARD;
		n_with += has_other &&
			  n_new - n_optimizer >= OTHER_STEP * level->calls_per_iteration;
	}
	return n_with;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/*
 * Returns whether a kernel recurs at regular distances. `iterations` are the `n` iterations in
 * which it occurs, in ascending order. `gaps` is scratch space for `n` values. A few distances may
 * differ, because two iterations may have been taken for one.
 */
static bool is_recurring(const uint64_t *iterations, uint32_t n, int64_t *gaps)
{
	uint32_t n_like = 0;
	for (uint32_t i = 0; i + 1 < n; i++)
		gaps[i] = (int64_t)(iterations[i + 1] - iterations[i]);
	int64_t usual = levels_median(gaps, n - 1), off = usual / GAP_OFF;
	for (uint32_t i = 0; i + 1 < n; i++)
		n_like += llabs(gaps[i] - usual) <= off;
	return usual > 1 && n_like >= MOST_ITERATIONS * (n - 1);
}

/*
 * Finds the kernels that recur at regular distances, and returns in how many iterations the most
 * frequent one of them occurs. Returns 0 if no kernel recurs.
 */
static uint32_t count_recurring(struct search *q, const struct levels_level *level)
{
	const struct levels_stored *events = q->store->events;
	const uint32_t *at = levels_index_of(q->index, level->reference);
	/* kernel number << 32 | number of an iteration */
	uint64_t *iterations = malloc((at[level->iterations] - at[0]) * sizeof(*iterations));
	int64_t *gaps = malloc(level->iterations * sizeof(*gaps));
	uint32_t n = 0, most = 0;
	count_presence(q, level, levels_store_kernel);
	for (uint32_t k = 0; iterations && gaps && k < level->iterations; k++)
		for (uint32_t i = at[k]; i < at[k + 1]; i++) {
			uint32_t kernel = levels_store_kernel(q->store, &events[i]);
			bool may = q->here[kernel] >= RECURRENCES &&
				   2 * q->here[kernel] <= level->iterations + 1;
			if (may && !(events[i].hints & LEVEL_COPY) && search_is_own(q, &events[i]))
				iterations[n++] = (uint64_t)kernel << 32 | k;
		}
	if (n)
		qsort(iterations, n, sizeof(*iterations), compare_u64);
	for (uint32_t begin = 0, i = 0; i < n; begin = i) {
		uint32_t end = begin;
		for (; i < n && iterations[i] >> 32 == iterations[begin] >> 32; i++)
			if (end == begin || iterations[i] != iterations[end - 1])
				iterations[end++] = iterations[i];
		if (end - begin > most && end - begin >= RECURRENCES &&
		    is_recurring(iterations + begin, end - begin, gaps))
			most = end - begin;
	}
	free(iterations);
	free(gaps);
	return most;
}

void search_count_odd(struct search *q, struct levels_level *level)
{
	level->unusual = count_unusual(q, level);
	level->other_steps = count_other_steps(q, level);
	level->recurring = level_is_noisy(level) ? count_recurring(q, level) : 0;
}

/*
 * Returns the sum of what iterations have in excess of an ordinary one. `values` are the amounts by
 * iteration, and are sorted.
 */
static double sum_beyond(int64_t *values, uint32_t n)
{
	double sum = 0;
	levels_median(values, n); /* sorts */
	/* Up to every second inner iteration may contain the outer loop's additional work. */
	int64_t ordinary = values[n / 3];
	for (uint32_t k = 0; k < n; k++)
		sum += values[k] > ordinary ? (double)(values[k] - ordinary) : 0;
	return sum;
}

/*
 * Counts for each iteration the launches of kernels that most iterations do not have. Ignores the
 * size of launches.
 */
static void count_new_kernels(struct search *q, const struct levels_level *level, int64_t *counts)
{
	const struct levels_stored *events = q->store->events;
	const uint32_t *at = iterations_of(q, level);
	count_presence(q, level, levels_store_kernel);
	for (uint32_t k = 0; k < level->iterations; k++)
		for (uint32_t i = at[k]; i < at[k + 1]; i++)
			counts[k] += !(events[i].hints & LEVEL_COPY) &&
				     2 * q->here[levels_store_kernel(q->store, &events[i])] <
					     level->iterations + 2;
}

/*
 * Adds up how many of their usual launches are missing in iterations that have new launches.
 * `values` are the rows of search_compare(), with `n` values each: 2 new launches, 3 launches of
 * the backward thread, 4 all launches, 5 launches of new kernels, 6 scratch space.
 *
 * An iteration with a multiple of the usual launches of the backward thread counts as several
 * iterations, because the loop's trigram may not have occurred between these. If its kernels are
 * new, they belong to another network, and the iteration is not counted at all.
 */
static int64_t sum_replaced(int64_t *values, uint32_t n)
{
	const int64_t *novel = values + 2ul * n, *foreign = values + 3ul * n,
		      *all = values + 4ul * n;
	const int64_t *new_kernels = values + 5ul * n;
	int64_t *sorted = values + 6ul * n, sum = 0;
	memcpy(sorted, foreign, n * sizeof(*sorted));
	int64_t usual_foreign = levels_median(sorted, n);
	for (uint32_t k = 0; k < n; k++)
		sorted[k] = all[k] - novel[k];
	int64_t usual = levels_median(sorted, n);
	for (uint32_t k = 0; k < n; k++) {
		int64_t times = 1;
		if (usual_foreign)
			times = (foreign[k] + usual_foreign / 2) / usual_foreign;
		if (novel[k] <= MANY_MORE || (times > 1 && new_kernels[k] * FEW_NEW > novel[k]))
			continue;
		int64_t lacks = times * usual - (all[k] - novel[k]);
		sum += lacks > 0 ? lacks : 0;
	}
	return sum;
}

struct levels_extra search_compare(struct search *q, const struct levels_level *inner,
				   const struct levels_level *outer)
{
	const struct levels_stored *events = q->store->events;
	const uint32_t *at = iterations_of(q, inner);
	uint32_t n = inner->iterations;
	int64_t *values = calloc(7ul * n, sizeof(*values));
	struct levels_extra extra = { .inner_iterations = (double)n / outer->iterations };
	if (!values)
		return extra;
	search_set_home(q, at, n + 1);
	count_new_kernels(q, inner, values + 5ul * n);
	count_presence(q, inner, token_of_stored);
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = at[k]; i < at[k + 1]; i++) {
			uint32_t hints = events[i].hints;
			values[k] += (hints & LEVEL_H2D) != 0;
			values[n + k] += (hints & (LEVEL_D2H | LEVEL_SYNCED)) != 0;
			bool is_new = !(hints & LEVEL_COPY) && 2 * q->here[events[i].token] < n + 2;
			values[2 * n + k] += is_new;
			extra.optimizers += is_new && hints & LEVEL_OPTIMIZER;
			values[4 * n + k] += !(hints & LEVEL_COPY);
			values[3 * n + k] += !(hints & LEVEL_COPY) &&
					     events[i].thread == q->backward &&
					     !search_is_own(q, &events[i]);
		}
	extra.optimizers /= outer->iterations;
	extra.replaced = (double)sum_replaced(values, n) / outer->iterations;
	extra.fed = sum_beyond(values, n) / outer->iterations;
	extra.read = sum_beyond(values + n, n) / outer->iterations;
	extra.novel = sum_beyond(values + 2ul * n, n) / outer->iterations;
	extra.known = sum_beyond(values + 4ul * n, n) / outer->iterations - extra.novel;
	extra.foreign = sum_beyond(values + 3ul * n, n) / outer->iterations;
	free(values);
	return extra;
}
