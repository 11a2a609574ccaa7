/*
 * Estimates with 95 % confidence intervals. All but the last ask nothing of the shape of the noise: Hodges and Lehmann's, with the intervals that
 * belong to them (Moses' for two samples, Tukey's for one). A step in ten that takes three times as long moves them little.
 */
#ifndef CORE_INTERVAL_H
#define CORE_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

struct interval {
	double middle, low, high;
};

/* Two samples taken under the same circumstances. */
struct interval_pair {
	const float *a, *b;
	size_t n_a, n_b;
};

/*
 * By how much values of `a` are larger than those of `b`: the median of all differences within the pairs. False where
 * there are too few for an interval of 95 % (one pair: 3 and 5, 2 and 8, or 1 and 39).
 */
bool interval_of_pairs(const struct interval_pair *pairs, size_t n, struct interval *out);

/* The middle of values that lie symmetrically around it, 6 at least. */
bool interval_of_values(const float *values, size_t n, struct interval *out);

/* The mean of few values, where `noise` tells how far such values lie from their mean: 5 at least. The one that asks for a shape, the normal
 * one: of few values nothing else can be said. */
bool interval_of_noise(const float *values, size_t n, const float *noise, size_t n_noise,
		       struct interval *out);

#endif
