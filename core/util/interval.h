/*
 * Estimates with 95 % confidence intervals. All but the last make no assumption on the distribution
 * of the noise: Hodges-Lehmann estimates with their intervals (Moses for two samples, Tukey for
 * one). A step in ten that takes three times as long moves them little.
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
 * Estimates by how much values of `a` are larger than those of `b`: the median of all differences
 * within the pairs. Returns false if there are too few values for a 95 % interval (one pair needs 3
 * and 5, 2 and 8, or 1 and 39).
 */
bool interval_of_pairs(const struct interval_pair *pairs, size_t n, struct interval *out);

/* Estimates the middle of values that are symmetric around it; needs at least 6. */
bool interval_of_values(const float *values, size_t n, struct interval *out);

/*
 * Estimates the mean of a few values. `noise`, at least 5 values, shows how far such values are
 * from their mean. Assumes a normal distribution: with few values no estimate is possible without
 * one.
 */
bool interval_of_noise(const float *values, size_t n, const float *noise, size_t n_noise,
		       struct interval *out);

#endif
