/*
 * Estimates with 95 % confidence intervals. interval_of_pairs() and interval_of_values() do not
 * assume a distribution of the noise. They compute Hodges-Lehmann estimates, with intervals by
 * Moses for two samples and by Tukey for one sample. If one step in ten takes three times as long
 * as the others, these estimates change little.
 */
#ifndef CORE_INTERVAL_H
#define CORE_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

struct interval {
	double middle, low, high;
};

/* Two samples taken under the same conditions. */
struct interval_pair {
	const float *a, *b;
	size_t n_a, n_b;
};

/*
 * Estimates by how much values of `a` are larger than values of `b`: the median of all differences
 * within the pairs. Returns false if there are too few values for a 95 % interval. A single pair
 * needs at least 3 and 5 values, 2 and 8 values, or 1 and 39 values.
 */
bool interval_of_pairs(const struct interval_pair *pairs, size_t n, struct interval *out);

/* Estimates the middle of the distribution of the values, which must be symmetric. Returns false
 * if there are fewer than 6 values. */
bool interval_of_values(const float *values, size_t n, struct interval *out);

/*
 * Estimates the mean of a few values, at least one. `noise` are at least 5 other values, which show
 * how far single values are from their mean. Assumes that the noise has a normal distribution,
 * because a few values give no interval without an assumption. Returns false if `values` or `noise`
 * has too few values.
 */
bool interval_of_noise(const float *values, size_t n, const float *noise, size_t n_noise,
		       struct interval *out);

#endif
