/* Steps' lengths: the warm-up told apart, percentiles of the rest, bounded memory. */
#include "core/baseline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct findings fill(const double *ms, size_t n)
{
	struct findings f = { 0 };
	struct baseline b = { 0 };
	struct sample *armed = mem_zero(sizeof(*armed));
	for (size_t i = 0; i < n; i++) {
		baseline_add(&b, ms[i], i + 2 >= n);
		if (i + 2 >= n)
			sample_add(armed, ms[i]);
	}
	baseline_fill(&f, &b, armed);
	baseline_free(&b);
	free(armed);
	return f;
}

static void warm_up_told_apart(void **state)
{
	const double ms[] = { 90, 40, 16, 10, 11, 10, 17, 9, 10, 10, 10, 12 };
	(void)state;
	struct findings f = fill(ms, 12);
	assert_int_equal(f.warm_up.n, 3);
	assert_float_equal(f.warm_up.max, 90, 1e-6);
	assert_int_equal(f.baseline.n, 9);
	assert_float_equal(f.baseline.p50, 10, 1e-6);
	assert_float_equal(f.baseline.max, 17, 1e-6);
	assert_float_equal(f.baseline.min, 9, 1e-6);
	assert_float_equal(f.baseline.mean, 11, 1e-6);
	assert_float_equal(f.baseline.std, 2.3979157616563596, 1e-6);
	assert_float_equal(f.baseline.cv, f.baseline.std / 11, 1e-9);
	assert_int_equal(f.armed.n, 2);
	assert_false(f.armed_in_warm_up);
	assert_float_equal(f.armed.mean, 11, 1e-6);
}

static void steady_from_the_start(void **state)
{
	const double ms[] = { 10, 11, 10, 30, 10, 9 };
	(void)state;
	struct findings f = fill(ms, 6);
	assert_int_equal(f.warm_up.n, 0);
	assert_int_equal(f.baseline.n, 6);
}

static void slow_for_half_the_run(void **state)
{
	const double ms[] = { 30, 30, 30, 30, 10, 10, 10, 10 };
	(void)state;
	struct findings f = fill(ms, 8);
	assert_int_equal(f.warm_up.n, 0);
}

/* All recorded steps in the warm-up, and one behind it. */
static void recorded_in_the_warm_up(void **state)
{
	const double ms[] = { 90, 40, 16, 10, 10, 10, 10, 10 };
	(void)state;
	for (size_t last = 2; last < 4; last++) {
		struct findings f = { 0 };
		struct baseline b = { 0 };
		struct sample *armed = mem_zero(sizeof(*armed));
		for (size_t i = 0; i < 8; i++)
			baseline_add(&b, ms[i], i && i <= last);
		baseline_fill(&f, &b, armed);
		assert_int_equal(f.warm_up.n, 3);
		assert_int_equal(f.armed_in_warm_up, last == 2);
		baseline_free(&b);
		free(armed);
	}
}

static void nothing_and_one(void **state)
{
	const double ms[] = { 7 };
	(void)state;
	struct findings f = fill(ms, 0);
	assert_int_equal(f.baseline.n, 0);
	f = fill(ms, 1);
	assert_int_equal(f.baseline.n, 1);
	assert_float_equal(f.baseline.p99, 7, 1e-6);
	assert_float_equal(f.baseline.std, 0, 1e-6);
}

static void bounded(void **state)
{
	struct findings f = { 0 };
	struct baseline b = { 0 };
	struct sample *armed = mem_zero(sizeof(*armed));
	(void)state;
	for (size_t i = 0; i < 5; i++)
		baseline_add(&b, 900, false);
	for (size_t i = 0; i < 3 * (size_t)BASELINE_KEPT; i++)
		baseline_add(&b, 10 + (double)(i % 11), false);
	baseline_fill(&f, &b, armed);
	assert_int_equal(b.ms.n, BASELINE_KEPT);
	assert_int_equal(f.warm_up.n, 5);
	assert_int_equal(f.baseline.n, 3 * BASELINE_KEPT);
	assert_float_equal(f.baseline.p50, 15, 0.01);
	assert_float_equal(f.baseline.mean, 15, 0.05);
	baseline_free(&b);
	free(armed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(warm_up_told_apart),	 cmocka_unit_test(steady_from_the_start),
		cmocka_unit_test(slow_for_half_the_run), cmocka_unit_test(recorded_in_the_warm_up),
		cmocka_unit_test(nothing_and_one),	 cmocka_unit_test(bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
