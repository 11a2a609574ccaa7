/* core/peers/numpy.c: the expected values come from numpy 1.24.2 and pandas 2.3.3. */
#include "core/peers/numpy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 300 };

/* Writes numbers below `most` with many equal ones. */
static void make(double *to, size_t n, unsigned most)
{
	uint32_t x = 1;
	for (size_t i = 0; i < n; i++) {
		x = (x * 1103515245u + 12345u) & 0x7fffffff;
		to[i] = (x >> 8) % most;
	}
}

static void test_equal_values_come_in_numpy_s_order(void **state)
{
	static const size_t
		seventeen[] = { 8, 13, 3, 16, 11, 2, 6, 5, 7, 15, 12, 4, 9, 10, 1, 14, 0 },
		forty[] = { 2,	35, 15, 21, 36, 18, 12, 31, 8,	4,  20, 16, 30, 24,
			    11, 10, 26, 25, 19, 33, 23, 34, 37, 32, 0,	17, 22, 13,
			    9,	7,  3,	1,  39, 38, 27, 28, 29, 5,  14, 6 };
	double values[MOST];
	size_t order[MOST], sum = 0;
	(void)state;
	make(values, 17, 5);
	numpy_argsort(order, values, 17);
	assert_memory_equal(order, seventeen, sizeof(seventeen));
	make(values, 40, 9);
	numpy_argsort(order, values, 40);
	assert_memory_equal(order, forty, sizeof(forty));
	make(values, MOST, 20);
	numpy_argsort(order, values, MOST);
	for (size_t i = 0; i < MOST; i++)
		sum += order[i] * (i + 1);
	assert_int_equal(sum, 6788791);
}

static void test_a_descending_order_is_that_of_reversed_values(void **state)
{
	static const double values[] = { 1, 3, 2, 3, 1 };
	static const size_t expected[] = { 1, 3, 2, 0, 4 };
	size_t order[5];
	(void)state;
	numpy_argsort_descending(order, values, 5);
	assert_memory_equal(order, expected, sizeof(expected));
}

/* Returns values that make the sort's partitions uneven, so that it falls back to a heap sort. */
static void make_worst(double *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (double)(i % 2 ? i : n - i);
}

static void test_any_order_is_sorted(void **state)
{
	enum { N = 20000 };
	double *values = malloc(N * sizeof(*values));
	size_t *order = malloc(N * sizeof(*order));
	(void)state;
	make_worst(values, N);
	numpy_argsort(order, values, N);
	for (size_t i = 1; i < N; i++)
		assert_true(values[order[i - 1]] <= values[order[i]]);
	free(values);
	free(order);
}

static void test_statistics_are_equal_to_the_last_bit(void **state)
{
	double values[MOST];
	(void)state;
	make(values, MOST, 1000);
	for (size_t i = 0; i < MOST; i++)
		values[i] /= 7;
	struct pandas_summary s = pandas_describe(values, MOST);
	assert_true(s.count == 300 && s.mean == 68.9752380952381 && s.std == 41.542695822294085);
	assert_true(s.min == 0 && s.quarter == 35.35714285714286 && s.half == 66.21428571428571);
	assert_true(s.three_quarters == 107.5 && s.max == 142.71428571428572);
	assert_true(pandas_group_std(values, MOST) == 41.54269582229409);
}

static void test_halves_are_rounded_to_even(void **state)
{
	(void)state;
	assert_true(numpy_round(0.5, 0) == 0 && numpy_round(2.5, 0) == 2);
	assert_true(numpy_round(98.526, 2) == 98.53 && numpy_round(-0.25, 1) == -0.2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_values_come_in_numpy_s_order),
		cmocka_unit_test(test_a_descending_order_is_that_of_reversed_values),
		cmocka_unit_test(test_any_order_is_sorted),
		cmocka_unit_test(test_statistics_are_equal_to_the_last_bit),
		cmocka_unit_test(test_halves_are_rounded_to_even),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
