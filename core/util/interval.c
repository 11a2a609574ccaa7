/*
 * See interval.h. Both intervals are order statistics of a list of numbers: from the k-th smallest
 * to the k-th largest, where k is the 2.5 % point of a rank statistic. That is Mann and Whitney's U
 * summed over the pairs (all orders within a pair are equally likely), or Wilcoxon's signed rank
 * sum (all signs are). For few ranks the distribution is counted exactly; for many it is nearly
 * normal.
 */
#include "core/util/interval.h"

#include "core/util/sample.h"
#include "core/util/vec.h"

#include <math.h>

enum {
	/* Differences; with more, the normal distribution is as good, and faster. */
	EXACT_MOST = 20000
};

#define TAIL	    0.025
#define NORMAL_TAIL 1.959964

/*
 * Takes the ends of the interval from the list: its k-th smallest and k-th largest number. Sorts
 * and frees the list.
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
 * Returns the largest k with P(statistic <= k - 1) <= 2.5 %. `weights`: likelihood of each value
 * from 0 on.
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

static size_t tail_of_normal(double mean, double variance)
{
	double k = mean - NORMAL_TAIL * sqrt(variance);
	return k > 0 ? (size_t)(k + 0.5) : 0;
}

/* ---- Two samples ---- */

/*
 * Multiplies the weights by the number of orders of a and b that give each U: the Gaussian binomial
 * coefficient, the product of (1 - q^(n_b + i)) / (1 - q^i) for i up to n_a. For several pairs it
 * is their product.
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

static double log_choose(size_t n, size_t k)
{
	return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

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

/* Counts how many of the 2^n combinations of signs give each sum of positive ranks. */
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
 * Returns Student's t for 97.5 %, by its expansion around the normal distribution: 2.769 for 4
 * degrees of freedom, where the exact value is 2.776.
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
