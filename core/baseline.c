/*
 * The median of the run's second half is what a step takes once it is warm. A step is one of the warm-up if it and all before it
 * took more than one and a half times as long; that a run is slow at first for more than half of its steps is its way.
 */
#include "core/baseline.h"

#include <math.h>

#define SLOW_FACTOR 1.5

void baseline_add(struct baseline *b, double ms, bool is_armed)
{
	b->n++;
	if (is_armed)
		b->last_armed = b->n;
	if (b->ms.n < BASELINE_KEPT) {
		vec_push(&b->ms, (float)ms);
		return;
	}
	uint64_t place =
		BASELINE_ORDERED + sample_next_random(&b->random) % (b->n - BASELINE_ORDERED);
	if (place < BASELINE_KEPT)
		b->ms.at[place] = (float)ms;
}

void baseline_free(struct baseline *b)
{
	vec_free(&b->ms);
}

static struct finding_steps describe(const float *ms, size_t n)
{
	struct finding_steps s = { .n = n };
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

/* Steps at the run's begin that took much longer than what came after. */
static size_t count_warm_up(const struct baseline *b)
{
	size_t half = b->ms.n / 2, n = 0;
	if (!half)
		return 0;
	double usual_ms = describe(b->ms.at + half, b->ms.n - half).p50;
	while (n < half && (double)b->ms.at[n] > usual_ms * SLOW_FACTOR)
		n++;
	return n < half ? n : 0;
}

static struct finding_steps describe_sample(const struct sample *s)
{
	double deviation = sample_deviation(s);
	return (struct finding_steps){
		.n = s->n,
		.mean = s->mean,
		.std = deviation,
		.cv = s->mean > 0 ? deviation / s->mean : 0,
		.min = s->min,
		.p50 = sample_percentile(s, 0.50),
		.p95 = sample_percentile(s, 0.95),
		.p99 = sample_percentile(s, 0.99),
		.max = s->max,
	};
}

void baseline_fill(struct findings *f, const struct baseline *b, const struct sample *armed)
{
	size_t n_warm = count_warm_up(b);
	if (b->ms.n) {
		f->warm_up = describe(b->ms.at, n_warm);
		f->baseline = describe(b->ms.at + n_warm, b->ms.n - n_warm);
		f->baseline.n += b->n - b->ms.n;
		f->armed_in_warm_up = b->last_armed && b->last_armed <= n_warm;
	}
	f->armed = describe_sample(armed);
}
