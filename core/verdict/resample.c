#include "core/verdict/resample.h"

#include "core/util/sample.h"

#include <math.h>

/* Two-sided 95 % quantile of the normal distribution. */
static const double normal_95 = 1.96;
/*
 * Standard deviation of the replay's error, as a share of the estimated savings. The estimates of
 * the 38 programs of the answer suite whose fixed twins were measured are off by 3 % (median); 11
 * of them are off by more than 10 %, 2 by more than 25 %.
 */
static const double model_error = 0.10;

/* Returns the two-sided 95 % quantile of Student's t distribution, by the degrees of freedom. */
static double student_95(uint32_t freedom)
{
	static const double quantiles[] = { 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26 };
	enum { N = sizeof(quantiles) / sizeof(*quantiles) };
	if (freedom <= N)
		return quantiles[freedom ? freedom - 1 : 0];
	/* Cornish-Fisher expansion; exact to 0.01 from ten degrees of freedom on */
	return normal_95 + (pow(normal_95, 3) + normal_95) / (4.0 * freedom);
}

double resample_spread(uint32_t n)
{
	return n > 1 ? sqrt(n / (n - 1.0)) * student_95(n - 1) / normal_95 : 0;
}

/* A normally distributed random number, by the method of Box and Muller. */
static double normal(uint64_t *random)
{
	const double range = 18446744073709551616.0; /* 2^64 */
	double a = ((double)sample_next_random(random) + 1) / range,
	       b = (double)sample_next_random(random) / range;
	return sqrt(-2 * log(fmin(a, 1))) * cos(2 * 3.14159265358979323846 * b);
}

/* Fills the mean, the least and the most of the steps' savings. */
static void describe(struct resampled *r, uint32_t n_steps)
{
	r->mean = 0;
	r->least = r->most = n_steps ? r->steps[0] : 0;
	for (uint32_t s = 0; s < n_steps; s++) {
		r->mean += r->steps[s] / n_steps;
		r->least = fmin(r->least, r->steps[s]);
		r->most = fmax(r->most, r->steps[s]);
	}
}

/* Returns by how much the savings of one draw differ from the mean. The mean of other steps is
 * assumed to lie within the range of the recorded ones. */
static double draw(const struct resampled *r, const uint32_t *drawn, uint32_t n_steps)
{
	double sum = 0;
	for (uint32_t s = 0; s < n_steps; s++)
		sum += r->steps[drawn[s]];
	double off = n_steps ? resample_spread(n_steps) * (sum / n_steps - r->mean) : 0;
	return fmin(fmax(off, r->least - r->mean), r->most - r->mean);
}

/* Returns the standard deviation of the errors that all steps of a run share: of the logarithm of a
 * factor. Other load on the machine makes savings several times larger or smaller, but never
 * negative: with an error of 60 %, savings of 100 ms never shrink to those of 1 ms. */
static double error_of(const struct resampled *r)
{
	return sqrt(model_error * model_error + r->run_error * r->run_error);
}

void resample(struct resampled *of, size_t n, uint32_t n_steps)
{
	uint64_t random = 0;
	uint32_t *drawn = mem_zero((n_steps + 1) * sizeof(*drawn));
	for (size_t i = 0; i < n; i++)
		describe(&of[i], n_steps);
	for (int k = 0; k < RESAMPLED; k++) {
		for (uint32_t s = 0; s < n_steps; s++)
			drawn[s] = (uint32_t)(sample_next_random(&random) % n_steps);
		for (size_t i = 0; i < n; i++) {
			double error = exp(error_of(&of[i]) * normal(&random)),
			       ms = of[i].value * error + draw(&of[i], drawn, n_steps);
			ms = of[i].limit > 0 ? fmin(ms, fmax(of[i].limit, of[i].value)) : ms;
			of[i].means[k] = (float)fmax(0, ms);
		}
	}
	free(drawn);
}

/* Returns half the width of the 95 % interval around `value` that `wanted` steps would give. */
static double half_width(const struct resampled *r, double value, uint32_t n_steps, uint32_t wanted)
{
	double squares = 0, error = model_error * value;
	for (uint32_t s = 0; s < n_steps; s++)
		squares += (r->steps[s] - r->mean) * (r->steps[s] - r->mean);
	double variance = n_steps > 1 ? squares / (n_steps - 1) : 0;
	return normal_95 * sqrt(variance / wanted + error * error);
}

double resampled_half_width(const struct resampled *r, uint32_t n_steps, uint32_t wanted)
{
	return half_width(r, r->value, n_steps, wanted);
}

double resampled_share_apart(const struct resampled *a, const struct resampled *b, uint32_t n_steps,
			     uint32_t wanted)
{
	uint64_t random = 0;
	uint32_t *drawn = mem_zero((n_steps + 1) * sizeof(*drawn));
	int n = 0;
	for (int k = 0; k < RESAMPLED && n_steps > 1; k++) {
		for (uint32_t s = 0; s < n_steps; s++)
			drawn[s] = (uint32_t)(sample_next_random(&random) % n_steps);
		double a_ms = fmax(0, a->value + draw(a, drawn, n_steps)),
		       b_ms = fmax(0, b->value + draw(b, drawn, n_steps));
		n += fabs(a_ms - b_ms) >
		     half_width(a, a_ms, n_steps, wanted) + half_width(b, b_ms, n_steps, wanted);
	}
	free(drawn);
	return n_steps > 1 ? (double)n / RESAMPLED : 1;
}

void resampled_interval(const struct resampled *r, double *low, double *high)
{
	float sorted[RESAMPLED];
	memcpy(sorted, r->means, sizeof(sorted));
	sample_sort(sorted, RESAMPLED);
	*low = sample_percentile_of(sorted, RESAMPLED, 0.025);
	*high = sample_percentile_of(sorted, RESAMPLED, 0.975);
}
