/* Windows of recorded steps, and what their launches lack. */
#include "core/model/completeness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct launch_counts whole = { .n = 10, .n_captured = 10 };
static const struct graph_counts none,
	named = { .n = 6, .n_named = 6 },
	unnamed = { .n = 6,
		    .n_named = 1,
		    .n_lacking = { [GRAPH_LACK_NODE] = 2, [GRAPH_LACK_IDS] = 3 } };

static void test_steps_without_a_gap_are_one_window(void **state)
{
	const struct launch_counts lacking = { .n = 10,
					       .n_captured = 7,
					       .n_lacking = { [LACK_CUPTI] = 1, [LACK_PAIR] = 2 } };
	struct completeness c = { 0 };
	(void)state;
	completeness_add(&c, 12, &whole, &named);
	completeness_add(&c, 13, &lacking, &unnamed);
	completeness_add(&c, 20, &whole, &none);
	assert_int_equal(c.total.n, 30);
	assert_int_equal(c.total.n_captured, 27);
	assert_int_equal(c.windows.n, 2);
	assert_int_equal(c.windows.at[0].first, 12);
	assert_int_equal(c.windows.at[0].last, 13);
	assert_int_equal(c.windows.at[0].launches.n_captured, 17);
	assert_int_equal(launch_counts_lack(&c.windows.at[0].launches), LACK_PAIR);
	assert_int_equal(c.windows.at[1].first, 20);
	assert_int_equal(c.windows.at[1].launches.n, 10);
	assert_int_equal(c.graphs.n, 12);
	assert_int_equal(c.graphs.n_named, 7);
	assert_int_equal(c.windows.at[0].graphs.n_named, 7);
	assert_int_equal(graph_counts_lack(&c.windows.at[0].graphs), GRAPH_LACK_IDS);
	assert_int_equal(c.windows.at[1].graphs.n, 0);
	completeness_free(&c);
}

static void test_the_total_counts_windows_that_are_not_listed(void **state)
{
	enum { STEPS = COMPLETENESS_WINDOWS + 50 };
	struct completeness c = { 0 };
	(void)state;
	for (uint64_t i = 0; i < STEPS; i++)
		completeness_add(&c, 2 * i, &whole, &named);
	assert_int_equal(c.windows.n, COMPLETENESS_WINDOWS);
	assert_int_equal(c.windows.at[COMPLETENESS_WINDOWS - 1].last,
			 2 * (COMPLETENESS_WINDOWS - 1));
	assert_int_equal(c.total.n, STEPS * 10);
	assert_int_equal(c.graphs.n, STEPS * 6);
	completeness_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_without_a_gap_are_one_window),
		cmocka_unit_test(test_the_total_counts_windows_that_are_not_listed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
