/* See levels_shape.h. Collector only. */
#include "core/steps/levels_shape.h"

#include "core/steps/levels_search.h"

#include <math.h>
#include <stdlib.h>

/*
 * Iterations are steady if this share of them deviates by no more than LENGTH_OFF of the median
 * length.
 */
#define STEADY_ITERATIONS 0.66
#define LENGTH_OFF	  0.25
/*
 * Iterations are even if there are at least this many, and nearly all of them deviate by no more
 * than this share of the median length.
 */
#define EVEN_OFF	0.1
#define EVEN_ITERATIONS 4u
/* The host waits exactly once in at least this share of the iterations. */
#define WAITED_ITERATIONS 0.95
/*
 * At least this share of a request loop's iterations is longer than half of the median iteration
 * and shorter than twice the median iteration.
 */
#define REQUEST_LOOP_LIKE 0.95
/* Two optimizer phases are separated by at least this many other launches. */
#define PHASE_APART 8u
/*
 * Small iterations that fill less than this share of the events from first to last are not a loop.
 */
#define BURST 0.1

/*
 * Counts the optimizer phases in [begin, end). A phase is one or more optimizer launches that
 * follow a forward or backward pass.
 */
static uint32_t count_phases(const struct levels_stored *events, uint32_t begin, uint32_t end)
{
	uint32_t n = 0, since = PHASE_APART;
	for (uint32_t i = begin; i < end; i++) {
		bool is_optimizers = events[i].hints & LEVEL_OPTIMIZER;
		n += is_optimizers && since >= PHASE_APART;
		since = is_optimizers ? 0 : since + 1;
	}
	return n;
}

bool iterations_are_steady(const struct levels_stored *events, const uint32_t *at, uint32_t n)
{
	int64_t *values = malloc(2ul * n * sizeof(*values));
	uint32_t n_like = 0;
	if (!values)
		return true;
	int64_t *phases = values + n;
	for (uint32_t k = 0; k + 1 < n; k++) {
		values[k] = at[k + 1] - at[k];
		phases[k] = count_phases(events, at[k], at[k + 1]);
	}
	int64_t phases_usual = levels_median(phases, n - 1),
		length_usual = levels_median(values, n - 1);
	for (uint32_t k = 0; k + 1 < n; k++)
		n_like += phases_usual
				  ? phases[k] == phases_usual
				  : llabs(values[k] - length_usual) <= LENGTH_OFF * length_usual;
	free(values);
	return n_like >= STEADY_ITERATIONS * (n - 1);
}

bool iterations_are_regular(const uint32_t *at, uint32_t n)
{
	uint32_t length = at[n / 2] - at[n / 2 - 1], n_same = 0;
	for (uint32_t k = 0; k + 1 < n; k++)
		n_same += at[k + 1] - at[k] == length;
	return n_same + 2 >= n - 1;
}

bool iterations_are_even(const uint32_t *at, uint32_t n, uint32_t usual)
{
	uint32_t n_like = 0;
	for (uint32_t k = 0; k + 1 < n; k++)
		n_like += fabs((double)(at[k + 1] - at[k]) - usual) <= EVEN_OFF * usual;
	return n > EVEN_ITERATIONS && n_like >= MOST_ITERATIONS * (n - 1);
}

bool iterations_are_waited(const struct levels_stored *events, const uint32_t *at, uint32_t n)
{
	uint32_t n_once = 0, shortest = UINT32_MAX, longest = 0;
	for (uint32_t k = 0; k + 1 < n; k++) {
		uint32_t n_waits = 0, length = at[k + 1] - at[k];
		for (uint32_t i = at[k]; i < at[k + 1]; i++)
			n_waits += events[i].hints & LEVEL_COPY	    ? 2
				   : events[i].hints & LEVEL_SYNCED ? 1
								    : 0;
		n_once += n_waits == 1;
		shortest = length < shortest ? length : shortest;
		longest = length > longest ? length : longest;
	}
	return longest > shortest && n_once >= WAITED_ITERATIONS * (n - 1);
}

bool iterations_are_burst(const struct levels_level *level, uint32_t length)
{
	return level->calls_per_iteration < CALLS_OF_LAYER &&
	       (uint64_t)level->calls_per_iteration * level->iterations < BURST * length;
}

bool iterations_are_like(const uint32_t *at, uint32_t n, uint32_t usual)
{
	uint32_t n_like = 0;
	for (uint32_t k = 0; k + 1 < n; k++)
		n_like += at[k + 1] - at[k] < 2 * usual && usual < 2 * (at[k + 1] - at[k]);
	return n_like >= REQUEST_LOOP_LIKE * (n - 1);
}
