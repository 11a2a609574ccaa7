/*
 * Finds how the clocks of machines differ. See merge.h.
 *
 * A collective ends on all ranks at nearly the same time: when the data is there. So the difference
 * of the ends of one collective on two machines is the difference of their clocks. The median over
 * all collectives is taken, because single ends may be late. If it grows or shrinks during the
 * recording, the clocks drift.
 */
#include "export/merge.h"

#include <math.h>
#include <stdlib.h>

enum {
	/* Fewer matched collectives tell nothing about the error. */
	MATCHED_LEAST = 3,
	/* Drift is estimated from the first and the last third. */
	DRIFT_PARTS = 3,
	DRIFT_LEAST = 30, /* collectives, for ten in each part */
};

/* ---- Differences ---- */

/* A collective that both the clock and those already known have. */
struct match {
	uint64_t ns;  /* its end on the clock */
	double shift; /* what to add to get its end on the reference clock */
};

typedef VEC(struct match) matches;

static int by_time(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Returns the value below which `share` of the matches' shifts lie, after `less` is subtracted and
 * the sign is dropped if `is_size`. `n` is at least 1. */
static double percentile(const struct match *at, size_t n, double share, double less, bool is_size)
{
	double *values = mem_resize(NULL, n * sizeof(*values));
	for (size_t i = 0; i < n; i++)
		values[i] = is_size ? fabs(at[i].shift - less) : at[i].shift - less;
	qsort(values, n, sizeof(*values), by_value);
	double value = values[(size_t)(share * (double)(n - 1) + 0.5)];
	free(values);
	return value;
}

static double median(const struct match *at, size_t n)
{
	return percentile(at, n, 0.5, 0, false);
}

/*
 * Fills shift, drift and error from the matches, which are sorted by time. Drift counts only if the
 * change from the first third to the last is larger than what is left after the shift: the ends of
 * collectives scatter.
 */
static void fit(struct merge_clock *c, matches *m)
{
	size_t part = m->n / DRIFT_PARTS, middle = part / 2;
	double shift = median(m->at, m->n), scatter = percentile(m->at, m->n, 0.5, shift, true);
	c->at_ns = m->at[m->n / 2].ns;
	c->n_matched = m->n;
	c->method = MERGE_COLLECTIVES;
	if (m->n >= DRIFT_LEAST) {
		const struct match *last = m->at + m->n - part;
		double first_shift = median(m->at, part), last_shift = median(last, part),
		       span = (double)last[middle].ns - (double)m->at[middle].ns;
		if (span > 0 && fabs(last_shift - first_shift) > 2 * scatter)
			c->drift = (last_shift - first_shift) / span;
	}
	for (size_t i = 0; i < m->n; i++) /* what is left without the drift */
		m->at[i].shift -= c->drift * ((double)m->at[i].ns - (double)c->at_ns);
	shift = median(m->at, m->n);
	c->shift_ns = (int64_t)llround(shift);
	c->error_ns = percentile(m->at, m->n, 0.95, shift, true);
}

/* ---- Which clocks are known ---- */

/* When a collective ended on the known clocks, on the reference clock. */
struct ending {
	double sum_ns;
	uint32_t n;
};

struct aligning {
	struct merge *m;
	bool *is_known;	  /* by clock */
	uint64_t base_ns; /* a double holds a time since then to a nanosecond */
	struct map place; /* key of a collective -> index in `endings` */
	VEC(struct ending) endings;
};

static double on_reference(const struct aligning *a, const struct merge_rank *r, uint64_t ns)
{
	const struct merge_clock *c = &a->m->clocks.at[r->clock];
	uint64_t here_ns = ns + (uint64_t)r->to_clock_ns;
	return (double)(int64_t)(here_ns + (uint64_t)c->shift_ns - a->base_ns) +
	       c->drift * ((double)here_ns - (double)c->at_ns);
}

static void note_endings(struct aligning *a)
{
	map_free(&a->place);
	a->place = (struct map){ 0 };
	a->endings.n = 0;
	for (size_t i = 0; i < a->m->ranks.n; i++) {
		const struct merge_rank *r = &a->m->ranks.at[i];
		for (size_t k = 0; a->is_known[r->clock] && k < r->arrivals.n; k++) {
			bool is_new;
			uint64_t *at = map_at(&a->place, r->arrivals.at[k].key, &is_new);
			if (is_new) {
				*at = a->endings.n;
				vec_push(&a->endings, (struct ending){ 0 });
			}
			struct ending *x = &a->endings.at[*at];
			x->sum_ns += on_reference(a, r, r->arrivals.at[k].end_ns);
			x->n++;
		}
	}
}

/* Lists the collectives that ranks of the clock share with ranks of known clocks. */
static void find_matches(matches *to, const struct aligning *a, size_t clock)
{
	for (size_t i = 0; i < a->m->ranks.n; i++) {
		const struct merge_rank *r = &a->m->ranks.at[i];
		for (size_t k = 0; r->clock == clock && k < r->arrivals.n; k++) {
			uint64_t *at = map_find(&a->place, r->arrivals.at[k].key),
				 ns = r->arrivals.at[k].end_ns + (uint64_t)r->to_clock_ns;
			if (!at)
				continue;
			const struct ending *x = &a->endings.at[*at];
			vec_push(to,
				 (struct match){ ns, x->sum_ns / x->n -
							     (double)(int64_t)(ns - a->base_ns) });
		}
	}
	if (to->n)
		qsort(to->at, to->n, sizeof(*to->at), by_time);
}

/* Aligns the clocks that share collectives with known clocks. Returns whether there was one. */
static bool align_next(struct aligning *a)
{
	bool is_any = false;
	note_endings(a);
	for (size_t i = 0; i < a->m->clocks.n; i++) {
		matches found = { 0 };
		if (!a->is_known[i])
			find_matches(&found, a, i);
		if (found.n >= MATCHED_LEAST) {
			fit(&a->m->clocks.at[i], &found);
			is_any = a->is_known[i] = true;
		}
		vec_free(&found);
	}
	return is_any;
}

/* Returns when the first step began on the clock. */
static int64_t first_on(const struct merge *m, size_t clock)
{
	int64_t first_ns = INT64_MAX;
	for (size_t i = 0; i < m->ranks.n; i++) {
		const struct merge_rank *r = &m->ranks.at[i];
		int64_t ns = (int64_t)r->first_ns + r->to_clock_ns;
		if (r->clock == clock && ns < first_ns)
			first_ns = ns;
	}
	return first_ns;
}

static void use_wall_clocks(struct merge *m)
{
	size_t reference = m->ranks.at[0].clock;
	bool has_wall = !m->clocks.at[reference].has_no_wall;
	for (size_t i = 0; i < m->clocks.n; i++) {
		struct merge_clock *c = &m->clocks.at[i];
		bool is_known = i == reference || (has_wall && !c->has_no_wall);
		c->shift_ns = is_known ? c->wall_ns - m->clocks.at[reference].wall_ns
				       : first_on(m, reference) - first_on(m, i);
		c->drift = 0;
		c->n_matched = 0;
		c->error_ns = i == reference ? 0 : NAN;
		c->method = i == reference ? MERGE_REFERENCE : is_known ? MERGE_WALL : MERGE_STEPS;
	}
}

void merge_align(struct merge *m)
{
	if (!m->ranks.n)
		return;
	const struct merge_rank *first = &m->ranks.at[0];
	struct aligning a = { .m = m, .is_known = mem_zero(m->clocks.n * sizeof(bool)) };
	a.base_ns = first->first_ns + (uint64_t)first->to_clock_ns;
	use_wall_clocks(m);
	a.is_known[first->clock] = true;
	while (align_next(&a))
		;
	map_free(&a.place);
	vec_free(&a.endings);
	free(a.is_known);
}

/* ---- The result ---- */

static int64_t to_reference(const struct merge *m, const struct merge_rank *r, uint64_t ns)
{
	const struct merge_clock *c = &m->clocks.at[r->clock];
	double since_ns = (double)(int64_t)(ns + (uint64_t)r->to_clock_ns - c->at_ns);
	return r->to_clock_ns + c->shift_ns + (int64_t)llround(c->drift * since_ns);
}

int64_t merge_shift(const struct merge *m, const struct merge_rank *r, uint64_t ns)
{
	return to_reference(m, r, ns) - m->ranks.at[0].to_clock_ns;
}

size_t merge_earliest(const struct merge *m)
{
	size_t earliest = 0;
	int64_t least_ns = INT64_MAX;
	for (size_t i = 0; i < m->ranks.n; i++) {
		const struct merge_rank *r = &m->ranks.at[i];
		int64_t ns = (int64_t)r->first_ns + merge_shift(m, r, r->first_ns);
		if (ns < least_ns) {
			least_ns = ns;
			earliest = i;
		}
	}
	return earliest;
}
