/* See difference.h. */
#include "core/verdict/difference.h"

#include "core/util/sample.h"
#include "core/util/vec.h"
#include "core/verdict/resample.h"

#include <math.h>

/* The steps of one run, and room for one draw of them. */
struct drawing {
	const float *steps;
	size_t n, block; /* block: neighbours that are drawn together */
	double median, mean, spread;
	float *drawn;
};

static double mean_of(const float *values, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)values[i];
	return sum / (double)n;
}

/* Sorts the values. */
static double median_of(float *values, size_t n)
{
	sample_sort(values, n);
	return sample_percentile_of(values, n, 0.5);
}

static void start(struct drawing *d, const float *steps, size_t n)
{
	*d = (struct drawing){ .steps = steps, .n = n, .block = (size_t)(cbrt((double)n) + 1e-9) };
	d->drawn = mem_resize(NULL, n * sizeof(*d->drawn));
	memcpy(d->drawn, steps, n * sizeof(*d->drawn));
	d->mean = mean_of(steps, n);
	d->median = median_of(d->drawn, n);
	d->spread = resample_spread((uint32_t)(n / d->block));
}

/* Draws steps. Stores by how much their median and mean differ from those of all steps. */
static void draw(struct drawing *d, uint64_t *random, double *median, double *mean)
{
	for (size_t i = 0; i < d->n;) {
		size_t from = sample_next_random(random) % d->n;
		for (size_t k = 0; k < d->block && i < d->n; k++)
			d->drawn[i++] = d->steps[(from + k) % d->n];
	}
	*mean = d->spread * (mean_of(d->drawn, d->n) - d->mean);
	*median = d->spread * (median_of(d->drawn, d->n) - d->median);
}

static struct difference interval(double a, double b, float *off, bool is_known)
{
	struct difference d = { a, b, NAN, NAN };
	if (!is_known)
		return d;
	sample_sort(off, RESAMPLED);
	d.low = b - a + sample_percentile_of(off, RESAMPLED, 0.025);
	d.high = b - a + sample_percentile_of(off, RESAMPLED, 0.975);
	return d;
}

struct differences difference_find(const float *a, size_t n_a, const float *b, size_t n_b)
{
	struct drawing of_a, of_b;
	float medians[RESAMPLED], means[RESAMPLED];
	double median_a, mean_a, median_b, mean_b;
	uint64_t random = 0;
	bool is_known = n_a > 1 && n_b > 1;
	start(&of_a, a, n_a);
	start(&of_b, b, n_b);
	for (int i = 0; i < RESAMPLED; i++) {
		draw(&of_a, &random, &median_a, &mean_a);
		draw(&of_b, &random, &median_b, &mean_b);
		medians[i] = (float)(median_b - median_a);
		means[i] = (float)(mean_b - mean_a);
	}
	struct differences found = { interval(of_a.median, of_b.median, medians, is_known),
				     interval(of_a.mean, of_b.mean, means, is_known) };
	free(of_a.drawn);
	free(of_b.drawn);
	return found;
}

bool difference_is_clear(const struct difference *d)
{
	return d->low > 0 || d->high < 0;
}
