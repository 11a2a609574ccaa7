/* Whether the steps of two runs differ: the intervals against their promise, and what only one of
 * the two statistics sees. */
#include "core/verdict/difference.h"

#include "core/util/sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 40, RUNS = 200 };

static uint64_t random_state;

static double uniform(void)
{
	return ((double)sample_next_random(&random_state) + 1) / 18446744073709551616.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * 3.14159265358979323846 * uniform());
}

/* Fills steps of about 10. `memory`: how much of its deviation a step passes on to the next. */
static void make(float *steps, size_t n, double memory)
{
	double off = normal();
	for (size_t i = 0; i < n; i++) {
		steps[i] = (float)(10 + off);
		off = memory * off + sqrt(1 - memory * memory) * normal();
	}
}

/* Returns in how many percent of the pairs of runs an interval does not contain 0. `more`: by how
 * much the steps of one run are longer. */
static double alarms(size_t n, double memory, double more, bool is_median)
{
	int n_clear = 0;
	float a[MOST], b[MOST];
	random_state = 7;
	for (int i = 0; i < RUNS; i++) {
		make(a, n, memory);
		make(b, n, memory);
		for (size_t k = 0; k < n; k++)
			b[k] += (float)more;
		struct differences d = difference_find(a, n, b, n);
		n_clear += difference_is_clear(is_median ? &d.median : &d.mean);
	}
	return 100.0 * n_clear / RUNS;
}

static void equal_runs_seldom_seem_to_differ(void **state)
{
	(void)state;
	static const size_t n[] = { 3, MOST };
	for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++)
		for (int is_median = 0; is_median < 2; is_median++)
			assert_true(alarms(n[i], 0, 0, is_median) <= 6);
}

/* Without blocks of neighbours, 25 % of the means of such steps seem to differ. */
static void steps_that_resemble_their_neighbours_do_not_either(void **state)
{
	(void)state;
	assert_true(alarms(MOST, 0.5, 0, false) <= 12);
	assert_true(alarms(MOST, 0.5, 0, true) <= 12);
}

static void a_large_difference_is_seen(void **state)
{
	(void)state;
	assert_true(alarms(3, 0, 20, false) >= 95);
	assert_true(alarms(MOST, 0, 1.5, false) >= 95);
	assert_true(alarms(MOST, 0, 1.5, true) >= 95);
}

/* One step in four became slower: the median step did not. */
static void the_mean_sees_what_the_median_does_not(void **state)
{
	(void)state;
	float a[MOST], b[MOST];
	random_state = 3;
	for (size_t i = 0; i < MOST; i++) {
		a[i] = (float)(10 + 0.01 * normal());
		b[i] = (float)((i % 4 ? 10 : 14) + 0.01 * normal());
	}
	struct differences d = difference_find(a, MOST, b, MOST);
	assert_false(difference_is_clear(&d.median));
	assert_true(difference_is_clear(&d.mean));
	assert_true(fabs(d.mean.b - d.mean.a - 1) < 0.02);
	assert_true(d.mean.low < 1 && d.mean.high > 1);
}

static void one_step_has_no_interval(void **state)
{
	(void)state;
	const float one[] = { 10 }, two[] = { 12, 13 };
	struct differences d = difference_find(one, 1, two, 2);
	assert_true(isnan(d.median.low) && isnan(d.median.high));
	assert_false(difference_is_clear(&d.median));
	assert_float_equal(d.median.b - d.median.a, 2.5, 1e-6);
	d = difference_find(two, 2, two, 2);
	assert_true(d.median.low <= 0 && d.median.high >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_runs_seldom_seem_to_differ),
		cmocka_unit_test(steps_that_resemble_their_neighbours_do_not_either),
		cmocka_unit_test(a_large_difference_is_seen),
		cmocka_unit_test(the_mean_sees_what_the_median_does_not),
		cmocka_unit_test(one_step_has_no_interval),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
