/*
 * The estimates of interval.h. interval_of_pairs() and interval_of_values() each make a sorted list
 * of numbers. The interval extends from the k-th smallest to the k-th largest number in the list.
 * k is the 2.5 % point of a rank statistic:
 * - interval_of_pairs(): Mann and Whitney's U, summed over the pairs. All orders of the values
 *   within a pair are equally likely.
 * - interval_of_values(): Wilcoxon's signed rank sum. All combinations of signs are equally likely.
 * For few values the distribution of the statistic is counted exactly. For many values it is nearly
 * normal, and the normal distribution is used.
 */
#include "core/util/interval.h"

#include "core/util/sample.h"
#include "core/util/vec.h"

#include <math.h>

enum {
	/* With more differences than this, the normal distribution is as accurate as counting, and
	 * faster. */
	EXACT_MOST = 20000
};

/* Probability that the true value is below the interval; the probability that it is above is the
 * same. */
#define TAIL	    0.025
#define NORMAL_TAIL 1.959964 /* the normal distribution's quantile for 1 - TAIL */

/*
 * Makes the interval from the k-th smallest to the k-th largest number of the list, with the
 * list's median as its middle. Sorts and frees the list. Returns false if the list is empty or k is
 * 0, which means too few values for a 95 % interval.
 */
static bool from_list(float *list, size_t n, size_t k, struct interval *out)
{
	bool is_known = n && k;
	if (is_known) {
		sample_sort(list, n);
		*out = (struct interval){
			.middle = sample_percentile_of(list, n, 0.5),
			.low = (double)list[k - 1],
			.high = (double)list[n - k],
		};
	}
	free(list);
	return is_known;
}

/*
 * Returns the largest k with P(statistic <= k - 1) <= 2.5 %. `weights`: for each value of the
 * statistic from 0 on, the number of arrangements that give this value. `total`: number of all
 * arrangements.
 */
static size_t tail_of(const double *weights, size_t n, double total)
{
	double sum = 0;
	for (size_t k = 0; k < n; k++) {
		sum += weights[k];
		if (sum > total * TAIL)
			return k;
	}
	return n;
}

/* Returns the same k as tail_of(), for a statistic that is nearly normal. */
static size_t tail_of_normal(double mean, double variance)
{
	double k = mean - NORMAL_TAIL * sqrt(variance);
	return k > 0 ? (size_t)(k + 0.5) : 0;
}

/* ---- Two samples ---- */

/*
 * Extends the weights by one more pair of samples. weights[u] is the coefficient of q^u of a
 * polynomial. For one pair, the polynomial that counts the orders of a and b with each value of U
 * is the Gaussian binomial coefficient: the product of (1 - q^(n_b + i)) / (1 - q^i) for i from 1
 * to n_a. For several pairs it is the product of their polynomials. Only the first `most`
 * coefficients are computed.
 */
static void multiply_orders(double *weights, size_t most, size_t n_a, size_t n_b)
{
	for (size_t i = 1; i <= n_a; i++) {
		for (size_t u = most; u-- > n_b + i;)
			weights[u] -= weights[u - n_b - i];
		for (size_t u = i; u < most; u++)
			weights[u] += weights[u - i];
	}
}

/* Returns the logarithm of the binomial coefficient "n choose k". */
static double log_choose(size_t n, size_t k)
{
	return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

/* Returns k for interval_of_pairs(); 0: too few values. */
static size_t tail_of_pairs(const struct interval_pair *pairs, size_t n, size_t n_differences)
{
	double mean = (double)n_differences / 2, variance = 0, log_total = 0;
	size_t most = n_differences / 2 + 1;
	for (size_t i = 0; i < n; i++) {
		double a = (double)pairs[i].n_a, b = (double)pairs[i].n_b;
		variance += a * b * (a + b + 1) / 12;
		log_total += log_choose(pairs[i].n_a + pairs[i].n_b, pairs[i].n_a);
	}
	if (n_differences > EXACT_MOST || log_total > 600) /* keeps exp(log_total) finite */
		return tail_of_normal(mean, variance);
	double *weights = mem_zero(most * sizeof(*weights));
	weights[0] = 1;
	for (size_t i = 0; i < n; i++)
		multiply_orders(weights, most, pairs[i].n_a, pairs[i].n_b);
	size_t k = tail_of(weights, most, exp(log_total));
	free(weights);
	return k;
}

bool interval_of_pairs(const struct interval_pair *pairs, size_t n, struct interval *out)
{
	size_t n_differences = 0;
	for (size_t i = 0; i < n; i++)
		n_differences += pairs[i].n_a * pairs[i].n_b;
	float *list = mem_resize(NULL, n_differences * sizeof(*list)), *to = list;
	for (size_t i = 0; i < n; i++)
		for (size_t a = 0; a < pairs[i].n_a; a++)
			for (size_t b = 0; b < pairs[i].n_b; b++)
				*to++ = pairs[i].a[a] - pairs[i].b[b];
	return from_list(list, n_differences, tail_of_pairs(pairs, n, n_differences), out);
}

/* ---- One sample ---- */

/*
 * Returns the k that interval_of_values() needs; 0: too few values. Uses the distribution of
 * Wilcoxon's signed-rank statistic, the sum of the positive ranks: each sum is weighted with the
 * number of combinations of signs, out of 2^n, that give this sum.
 */
static size_t tail_of_signs(size_t n)
{
	enum { EXACT = 50 };
	size_t sum = n * (n + 1) / 2, most = sum / 2 + 1;
	if (n > EXACT)
		return tail_of_normal((double)sum / 2, (double)sum * (double)(2 * n + 1) / 12);
	double *weights = mem_zero(most * sizeof(*weights));
	weights[0] = 1;
	for (size_t rank = 1; rank <= n; rank++)
		for (size_t s = most; s-- > rank;)
			weights[s] += weights[s - rank];
	size_t k = tail_of(weights, most, ldexp(1, (int)n));
	free(weights);
	return k;
}

bool interval_of_values(const float *values, size_t n, struct interval *out)
{
	size_t n_means = n * (n + 1) / 2;
	float *list = mem_resize(NULL, n_means * sizeof(*list)), *to = list;
	for (size_t i = 0; i < n; i++)
		for (size_t k = i; k < n; k++)
			*to++ = (values[i] + values[k]) / 2;
	return from_list(list, n_means, n ? tail_of_signs(n) : 0, out);
}

/* ---- Few values ---- */

/*
 * Returns the 97.5 % quantile of Student's t distribution. Uses the expansion of t around the
 * normal distribution, which gives 2.769 for 4 degrees of freedom. The exact value is 2.776.
 */
static double student(double degrees)
{
	const double z = NORMAL_TAIL, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
	return z + (z3 + z) / (4 * degrees) +
	       (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * degrees * degrees * degrees);
}

static double mean_of(const float *values, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)values[i];
	return n ? sum / (double)n : 0;
}

static double variance_of(const float *values, size_t n)
{
	double mean = mean_of(values, n), sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += ((double)values[i] - mean) * ((double)values[i] - mean);
	return n > 1 ? sum / (double)(n - 1) : 0;
}

bool interval_of_noise(const float *values, size_t n, const float *noise, size_t n_noise,
		       struct interval *out)
{
	enum { NOISE_LEAST = 5 };
	if (!n || n_noise < NOISE_LEAST)
		return false;
	double variance = fmax(variance_of(noise, n_noise), variance_of(values, n));
	double off = student((double)(n_noise - 1)) *
		     sqrt(variance * (1 / (double)n + 1 / (double)n_noise));
	out->middle = mean_of(values, n);
	out->low = out->middle - off;
	out->high = out->middle + off;
	return true;
}
