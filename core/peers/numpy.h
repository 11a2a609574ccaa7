/*
 * Sorting and statistics with the same rounding, and the same order of equal values, as numpy 1.24
 * and pandas 1.5, which HTA computes with. Their sort is not stable, so that the order of equal
 * values, and thus some of HTA's figures, depend on the algorithm.
 */
#ifndef CORE_PEERS_NUMPY_H
#define CORE_PEERS_NUMPY_H

#include <stdbool.h>
#include <stddef.h>

/* Writes to `order` the indices of `values` in ascending order. No value may be NAN. */
void numpy_argsort(size_t *order, const double *values, size_t n);
/* The same, as DataFrame.sort_values(ascending=False). */
void numpy_argsort_descending(size_t *order, const double *values, size_t n);

/* Adds in pairs, as numpy.sum(). */
double numpy_sum(const double *values, size_t n);

/* numpy.round(): to `digits` decimals, halves to even. */
double numpy_round(double value, unsigned digits);

/* The percentile `q` (0 to 1) of sorted values, by linear interpolation. NAN if there are none. */
double numpy_quantile(const double *sorted, size_t n, double q);

/* Standard deviation of a sample by Welford's method, as DataFrameGroupBy.std(). NAN for less than
 * two values. */
double pandas_group_std(const double *values, size_t n);

/* As Series.describe(). */
struct pandas_summary {
	double count, mean, std, min, quarter, half, three_quarters, max;
};

/* `n` must be at least 1. */
struct pandas_summary pandas_describe(const double *values, size_t n);

#endif
