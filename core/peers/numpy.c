/* See numpy.h. */
#include "core/peers/numpy.h"

#include "core/util/vec.h"

#include <math.h>
#include <stdint.h>

/* ---- Sorting: numpy's introsort (npysort/quicksort.cpp, heapsort.cpp) ---- */

enum { FEW = 15, STACK = 2 * 64 };

static void swap(size_t *a, size_t *b)
{
	size_t kept = *a;
	*a = *b;
	*b = kept;
}

/* Moves order[at] down in a heap whose indices count from 1. */
static void sift(const double *v, size_t *order, size_t at, size_t n)
{
	size_t moved = order[at - 1];
	for (size_t child = at * 2; child <= n; child *= 2) {
		if (child < n && v[order[child - 1]] < v[order[child]])
			child++;
		if (!(v[moved] < v[order[child - 1]]))
			break;
		order[at - 1] = order[child - 1];
		at = child;
	}
	order[at - 1] = moved;
}

static void heapsort_order(const double *v, size_t *order, size_t n)
{
	for (size_t at = n / 2; at > 0; at--)
		sift(v, order, at, n);
	for (; n > 1; n--) {
		swap(&order[0], &order[n - 1]);
		sift(v, order, 1, n - 1);
	}
}

static void insertion_sort(const double *v, size_t *low, const size_t *high)
{
	for (size_t *i = low + 1; i <= high; i++) {
		size_t moved = *i, *j = i;
		for (; j > low && v[moved] < v[j[-1]]; j--)
			*j = j[-1];
		*j = moved;
	}
}

/* Splits the range by the median of its first, middle and last value. Returns the pivot's place. */
static size_t *partition(const double *v, size_t *low, size_t *high)
{
	size_t *middle = low + ((high - low) >> 1), *i = low, *j = high - 1;
	if (v[*middle] < v[*low])
		swap(middle, low);
	if (v[*high] < v[*middle])
		swap(high, middle);
	if (v[*middle] < v[*low])
		swap(middle, low);
	double pivot = v[*middle];
	swap(middle, j);
	for (;;) {
		do
			i++;
		while (v[*i] < pivot);
		do
			j--;
		while (pivot < v[*j]);
		if (i >= j)
			break;
		swap(i, j);
	}
	swap(i, high - 1);
	return i;
}

void numpy_argsort(size_t *order, const double *values, size_t n)
{
	struct part {
		size_t *low, *high;
		int depth;
	} stack[STACK], part = { order, order + n - 1, 0 };
	size_t n_parts = 0;
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	if (n < 2)
		return;
	for (size_t rest = n; rest >>= 1;)
		part.depth += 2;
	for (;;) {
		if (part.depth < 0) {
			heapsort_order(values, part.low, (size_t)(part.high - part.low) + 1);
		} else {
			while (part.high - part.low > FEW) {
				size_t *at = partition(values, part.low, part.high);
				part.depth--;
				if (at - part.low < part.high - at) {
					stack[n_parts++] =
						(struct part){ at + 1, part.high, part.depth };
					part.high = at - 1;
				} else {
					stack[n_parts++] =
						(struct part){ part.low, at - 1, part.depth };
					part.low = at + 1;
				}
			}
			insertion_sort(values, part.low, part.high);
		}
		if (!n_parts)
			return;
		part = stack[--n_parts];
	}
}

void numpy_argsort_descending(size_t *order, const double *values, size_t n)
{
	double *reversed = mem_zero(n * sizeof(*reversed));
	size_t *found = mem_resize(NULL, n * sizeof(*found));
	for (size_t i = 0; i < n; i++)
		reversed[i] = values[n - 1 - i];
	numpy_argsort(found, reversed, n);
	for (size_t i = 0; i < n; i++)
		order[i] = n - 1 - found[n - 1 - i];
	free(reversed);
	free(found);
}

/* ---- Sums ---- */

double numpy_sum(const double *values, size_t n)
{
	double r[8], sum = 0;
	size_t i = 8;
	if (n < 8) {
		for (i = 0; i < n; i++)
			sum += values[i];
		return sum;
	}
	if (n > 128) {
		size_t half = n / 2;
		half -= half % 8;
		return numpy_sum(values, half) + numpy_sum(values + half, n - half);
	}
	memcpy(r, values, sizeof(r));
	for (; i < n - n % 8; i += 8)
		for (size_t j = 0; j < 8; j++)
			r[j] += values[i + j];
	sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
	for (; i < n; i++)
		sum += values[i];
	return sum;
}

double numpy_round(double value, unsigned digits)
{
	double scale = digits == 1 ? 10 : digits == 2 ? 100 : digits == 3 ? 1000 : 1;
	return rint(value * scale) / scale;
}

double numpy_quantile(const double *sorted, size_t n, double q)
{
	if (!n)
		return NAN;
	double at = (double)(n - 1) * q, share = at - floor(at);
	size_t below = (size_t)floor(at), above = below + 1 < n ? below + 1 : below;
	double difference = sorted[above] - sorted[below];
	return share >= 0.5 ? sorted[above] - difference * (1 - share)
			    : sorted[below] + difference * share;
}

/* ---- Statistics ---- */

double pandas_group_std(const double *values, size_t n)
{
	double mean = 0, squares = 0;
	for (size_t i = 0; i < n; i++) {
		double before = mean;
		mean += (values[i] - before) / (double)(i + 1);
		squares += (values[i] - mean) * (values[i] - before);
	}
	return n < 2 ? NAN : sqrt(squares / (double)(n - 1));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

struct pandas_summary pandas_describe(const double *values, size_t n)
{
	double *copy = mem_resize(NULL, n * sizeof(*copy));
	struct pandas_summary s = { .count = (double)n, .mean = numpy_sum(values, n) / (double)n };
	for (size_t i = 0; i < n; i++)
		copy[i] = (s.mean - values[i]) * (s.mean - values[i]);
	s.std = n < 2 ? NAN : sqrt(numpy_sum(copy, n) / (double)(n - 1));
	memcpy(copy, values, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), by_value);
	s.min = copy[0];
	s.quarter = numpy_quantile(copy, n, 0.25);
	s.half = numpy_quantile(copy, n, 0.5);
	s.three_quarters = numpy_quantile(copy, n, 0.75);
	s.max = copy[n - 1];
	free(copy);
	return s;
}
