/*
 * Computes mean and deviation by Welford's method, and chooses the values to keep by Vitter's
 * algorithm R. The random generator has a fixed seed, so that the same values always give the same
 * result.
 */
#include "core/util/sample.h"

#include "core/util/vec.h"

#include <math.h>

uint64_t sample_next_random(uint64_t *state)
{
	uint64_t x = *state ? *state : 0x9e3779b97f4a7c15ull;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

void sample_add(struct sample *s, double value)
{
	if (!s->n || value < s->min)
		s->min = value;
	if (!s->n || value > s->max)
		s->max = value;
	s->n++;
	double off = value - s->mean;
	s->mean += off / (double)s->n;
	s->m2 += off * (value - s->mean);
	uint64_t place = s->n <= SAMPLE_KEPT ? s->n - 1 : sample_next_random(&s->random) % s->n;
	if (place < SAMPLE_KEPT)
		s->kept[place] = (float)value;
}

static int by_value(const void *a, const void *b)
{
	const float *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

void sample_sort(float *values, size_t n)
{
	if (n)
		qsort(values, n, sizeof(*values), by_value);
}

double sample_percentile_of(const float *sorted, size_t n, double fraction)
{
	double at = fraction * (double)(n - 1);
	size_t low = (size_t)at;
	double value = (double)sorted[low];
	if (low + 1 < n)
		value += ((double)sorted[low + 1] - value) * (at - (double)low);
	return value;
}

double sample_percentile(const struct sample *s, double fraction)
{
	size_t n = s->n < SAMPLE_KEPT ? (size_t)s->n : SAMPLE_KEPT;
	if (!n)
		return 0;
	float *sorted = mem_resize(NULL, n * sizeof(*sorted));
	memcpy(sorted, s->kept, n * sizeof(*sorted));
	sample_sort(sorted, n);
	double value = sample_percentile_of(sorted, n, fraction);
	free(sorted);
	return value;
}

struct sample_summary sample_summarize(const struct sample *s)
{
	double deviation = s->n > 1 ? sqrt(s->m2 / (double)(s->n - 1)) : 0;
	return (struct sample_summary){
		.n = (int64_t)s->n,
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
