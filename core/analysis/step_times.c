/*
 * Finds the warm-up and the slow steps of a run. The length of a warm step is the median of the
 * run's second half. The warm-up consists of all steps before the first step that takes at most 1.5
 * times as long as a warm step. If the first half of the run has no such step, there is no warm-up.
 *
 * After the warm-up there may be two kinds of steps: many that take about the median, and few that
 * take many times as long. These few are the slow steps. They are reported separately, because
 * figures per step do not show their cause.
 */
#include "core/analysis/step_times.h"

#include <math.h>

#define SLOW_FACTOR	 1.5
#define RARE_FACTOR	 3    /* times the median: shorter steps are normal variation */
#define RARE_MOST_SHARE	 0.25 /* of the steps: a larger share is not exceptional */
#define RARE_LEAST_SHARE 0.35 /* of the time: the pauses of a shared machine reach 0.3 */

enum { RARE_LEAST = 3 }; /* fewer do not show how often slow steps occur */

static struct sample_summary describe(const float *ms, size_t n)
{
	struct sample_summary s = { .n = (int64_t)n };
	double m2 = 0;
	if (!n)
		return s;
	float *sorted = mem_resize(NULL, n * sizeof(*sorted));
	memcpy(sorted, ms, n * sizeof(*sorted));
	sample_sort(sorted, n);
	for (size_t i = 0; i < n; i++) {
		double off = (double)ms[i] - s.mean;
		s.mean += off / (double)(i + 1);
		m2 += off * ((double)ms[i] - s.mean);
	}
	s.std = n > 1 ? sqrt(m2 / (double)(n - 1)) : 0;
	s.cv = s.mean > 0 ? s.std / s.mean : 0;
	s.min = (double)sorted[0];
	s.p50 = sample_percentile_of(sorted, n, 0.50);
	s.p95 = sample_percentile_of(sorted, n, 0.95);
	s.p99 = sample_percentile_of(sorted, n, 0.99);
	s.max = (double)sorted[n - 1];
	free(sorted);
	return s;
}

/* Returns the number of warm-up steps. */
static size_t count_warm_up(const struct baseline *b)
{
	size_t half = b->ms.n / 2, n = 0;
	if (!half)
		return 0;
	double warm_ms = describe(b->ms.at + half, b->ms.n - half).p50;
	while (n < half && (double)b->ms.at[n] > warm_ms * SLOW_FACTOR)
		n++;
	return n < half ? n : 0;
}

static void find_recorded(struct finding_slow *s, const struct timeline *t)
{
	const size_t most = sizeof(s->recorded) / sizeof(*s->recorded);
	for (size_t i = 0; t && i < t->steps.n; i++) {
		const struct timeline_step *step = &t->steps.at[i];
		if ((double)(step->end_ns - step->begin_ns) / 1e6 < s->least_ms)
			continue;
		if (s->n_recorded < most)
			s->recorded[s->n_recorded] = step->number;
		s->n_recorded++;
	}
}

/*
 * Splits the sorted lengths into two groups, so that the variance between the groups is largest
 * (Otsu's method). Returns the number of lengths in the group of shorter steps, and their sum in
 * `below_ms`.
 */
static size_t split(const float *sorted, size_t n, double sum_ms, double *below_ms)
{
	size_t best = n;
	double sum = 0, most = 0;
	for (size_t i = 0; i + 1 < n; i++) {
		double below = (double)(i + 1), above = (double)(n - i - 1);
		sum += (double)sorted[i];
		double apart = (sum_ms - sum) / above - sum / below;
		if (below * above * apart * apart <= most)
			continue;
		most = below * above * apart * apart;
		best = i + 1;
		*below_ms = sum;
	}
	return best;
}

static struct finding_slow find_slow(const float *ms, size_t n, double median_ms)
{
	const struct finding_slow none = { 0 };
	double sum_ms = 0, other_ms = 0;
	float *sorted = mem_resize(NULL, n * sizeof(*sorted));
	for (size_t i = 0; i < n; i++)
		sum_ms += (double)(sorted[i] = ms[i]);
	sample_sort(sorted, n);
	size_t n_others = split(sorted, n, sum_ms, &other_ms), n_slow = n - n_others;
	struct finding_slow s = { .n = n_slow, .n_of = n };
	s.least_ms = n_slow ? (double)sorted[n_others] : 0;
	free(sorted);
	double slow_ms = sum_ms - other_ms;
	if (n_slow < RARE_LEAST || (double)n_slow > RARE_MOST_SHARE * (double)n ||
	    s.least_ms < RARE_FACTOR * median_ms || slow_ms < RARE_LEAST_SHARE * sum_ms)
		return none;
	s.times = slow_ms / (double)n_slow / (other_ms / (double)n_others);
	s.pct = slow_ms / sum_ms * 100;
	return s;
}

double step_times_work(const struct timeline *t, double usual)
{
	float *n = mem_zero((t->steps.n + 1) * sizeof(*n));
	if (!(usual > 0) || !t->steps.n) {
		free(n);
		return 0;
	}
	for (size_t i = 0; i < t->calls.n; i++)
		n[t->calls.at[i].step] += RECORD_TOKENS >> t->calls.at[i].category & 1;
	sample_sort(n, t->steps.n);
	double median = sample_percentile_of(n, t->steps.n, 0.5);
	free(n);
	return median / usual;
}

void step_times_fill(struct findings *f, const struct baseline *b, const struct sample *recorded)
{
	size_t n_warm = count_warm_up(b);
	if (b->ms.n) {
		f->warm_up = describe(b->ms.at, n_warm);
		f->baseline = describe(b->ms.at + n_warm, b->ms.n - n_warm);
		f->baseline.n += (int64_t)(b->n - b->ms.n);
		f->slow = find_slow(b->ms.at + n_warm, b->ms.n - n_warm, f->baseline.p50);
		f->recorded_in_warm_up = b->last_recorded && b->last_recorded <= n_warm;
	}
	if (f->slow.n)
		find_recorded(&f->slow, f->timeline);
	f->recorded = sample_summarize(recorded);
}
