/*
 * Distinguishes a leak from a cache that fills up. A cache grows only at first, a leak grows until
 * the end of the run. A leak may grow rarely, because a framework's allocator requests memory from
 * the driver only once in many steps. Memory that also shrinks is not a leak.
 */
#include "core/model/memory_growth.h"

#include <stdlib.h>

enum {
	/* first steps, in which growth does not count: nearly every program keeps the memory that
	 * it allocates there */
	SETTLING_STEPS = 2,
	GROWTHS_LEAST = 4, /* with fewer growths, memory does not count as a leak */
	STEPS_LEAST = 6,   /* with fewer steps, memory does not count as a leak */
	DOWN_PART = 10,	   /* a leak shrinks at most once per DOWN_PART growths */
	PARTS = 4,	   /* a leak grows in each quarter of the run */
	/*
	 * Steps of a group. The shortest of 8 random batch lengths is nearly as short as the
	 * shortest of all: of lengths from 64 to 320, it is 92 with a standard deviation of 25,
	 * against 74 for a single length.
	 */
	GROUP_STEPS = 8,
};

/*
 * Keeps every `stride`-th growth. If there is no room left, drops every second kept growth and
 * doubles `stride`.
 */
static void keep(struct memory_trend *g, uint64_t step, int64_t held_bytes)
{
	if (!g->stride)
		g->stride = 1;
	if (g->n_up % g->stride)
		return;
	if (g->n_kept == GROWTHS_KEPT) {
		for (uint32_t i = 0; i < GROWTHS_KEPT / 2; i++) {
			g->up[i] = g->up[i * 2 + 1];
			g->up_bytes[i] = g->up_bytes[i * 2 + 1];
		}
		g->n_kept = GROWTHS_KEPT / 2;
		g->stride *= 2;
	}
	g->up[g->n_kept] = step;
	g->up_bytes[g->n_kept++] = held_bytes;
}

static void note(struct memory_trend *g, uint64_t step, int64_t held_bytes)
{
	if (step <= SETTLING_STEPS) {
		g->since = step;
		g->first_bytes = held_bytes;
	} else if (held_bytes > g->last_bytes) {
		g->n_up++;
		keep(g, step, held_bytes);
	} else if (held_bytes < g->last_bytes) {
		g->n_down++;
	}
	g->last_bytes = held_bytes;
}

/* Ends the current group, and begins the group of `step`. Until `step`, the memory held did not
 * change. */
static void begin_group(struct memory_growth *g, uint64_t step)
{
	int64_t held_bytes = g->steps.last_bytes;
	if (g->group)
		note(&g->groups, g->group, g->least_bytes);
	g->group = (step - 1) / GROUP_STEPS + 1;
	bool is_first_step = step % GROUP_STEPS == 1;
	g->least_bytes = is_first_step || step == 1 ? INT64_MAX : held_bytes;
}

void memory_growth_start(struct memory_growth *g, uint64_t n_steps)
{
	g->steps.since = n_steps;
	g->groups.since = n_steps / GROUP_STEPS;
}

void memory_growth_note(struct memory_growth *g, uint64_t step, int64_t held_bytes)
{
	if (!g->group || (step - 1) / GROUP_STEPS + 1 > g->group)
		begin_group(g, step);
	if (held_bytes < g->least_bytes)
		g->least_bytes = held_bytes;
	note(&g->steps, step, held_bytes);
}

static bool is_leak(const struct memory_trend *g, uint64_t n)
{
	uint64_t counted = n - g->since;
	unsigned parts = 0;
	if (g->n_up < GROWTHS_LEAST || g->n_down * DOWN_PART > g->n_up || n < g->since ||
	    counted < STEPS_LEAST)
		return false;
	for (uint32_t i = 0; i < g->n_kept; i++)
		parts |= 1u << (g->up[i] - g->since - 1) * PARTS / counted;
	return parts == (1u << PARTS) - 1;
}

/* Returns the number of groups that have ended. The newest group is noted only when the next one
 * begins, so it does not count. */
static uint64_t n_groups(const struct memory_growth *g, uint64_t n_steps)
{
	uint64_t n = n_steps / GROUP_STEPS;
	return n && n == g->group ? n - 1 : n;
}

bool memory_growth_is_leak(const struct memory_growth *g, uint64_t n_steps)
{
	return is_leak(&g->steps, n_steps) || is_leak(&g->groups, n_groups(g, n_steps));
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/*
 * Takes the median of several slopes. Each slope is between two kept growths that are half of the
 * kept growths apart. The median ignores the first and last steps, whose ends may be at another
 * place in the program, where it holds more or less memory.
 */
static double rate(const struct memory_trend *g, uint64_t n)
{
	double slopes[GROWTHS_KEPT];
	uint32_t half = g->n_kept / 2;
	if (n <= g->since)
		return 0;
	if (g->n_kept < GROWTHS_LEAST)
		return (double)(g->last_bytes - g->first_bytes) / (double)(n - g->since);
	for (uint32_t i = 0; i < half; i++)
		slopes[i] = (double)(g->up_bytes[i + half] - g->up_bytes[i]) /
			    (double)(g->up[i + half] - g->up[i]);
	qsort(slopes, half, sizeof(*slopes), by_value);
	return half % 2 ? slopes[half / 2] : (slopes[half / 2 - 1] + slopes[half / 2]) / 2;
}

double memory_growth_rate(const struct memory_growth *g, uint64_t n_steps)
{
	uint64_t n = n_groups(g, n_steps);
	bool is_by_groups = !is_leak(&g->steps, n_steps) && is_leak(&g->groups, n);
	return is_by_groups ? rate(&g->groups, n) / GROUP_STEPS : rate(&g->steps, n_steps);
}
