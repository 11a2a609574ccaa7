/*
 * Which launches end steps: the anchor, and the backup in an iteration in which the anchor does not
 * come.
 */
#include "core/runtime/iteration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/*
 * A launch each: A is the anchor's, B the backup's, a dot any other, a comma one of another thread.
 * A follows B within five launches.
 */
static void check_ends_apart(uint32_t within, uint32_t apart, const char *launches,
			     const char *ends)
{
	const struct iteration_anchors anchors = {
		.anchor = 1, .backup = 3, .within = within, .thread = 7, .apart = apart
	};
	struct iteration iteration;
	char found[128] = "";
	uint32_t at = 0;
	assert_int_equal(strlen(launches), strlen(ends));
	iteration_begin(&iteration, &anchors);
	for (size_t i = 0; launches[i]; i++) {
		char l = launches[i];
		uint64_t hash = l == 'A' ? 1 : l == 'B' ? 3 : 5;
		uint32_t thread = l == ',' ? 8 : 7;
		at += thread == 7;
		bool is = iteration_is_moved(&iteration, &anchors, thread, hash) &&
			  iteration_take(&iteration, &anchors, thread, at, hash);
		found[i] = is ? '|' : ' ';
	}
	assert_string_equal(found, ends);
}

static void check_ends_within(uint32_t within, const char *launches, const char *ends)
{
	check_ends_apart(within, 0, launches, ends);
}

static void check_ends(const char *launches, const char *ends)
{
	check_ends_within(5, launches, ends);
}

static void test_a_backup_after_the_anchor(void **state)
{
	(void)state;
	check_ends_within(0, "..B....A..B....A..B....A", "       |       |       |");
	check_ends_within(0, "..B....A..B.......B....A", "       |          |    |");
	check_ends_within(0, "..B....A.......A..B....A", "       |       |       |");
}

static void test_the_anchor_counts(void **state)
{
	(void)state;
	check_ends("..B....A..B....A..B....A", "       |       |       |");
	/* no backup in some iterations */
	check_ends("..B....A.......A..B....A", "       |       |       |");
}

static void test_the_backup_stands_in(void **state)
{
	(void)state;
	check_ends("..B....A..B.......B....A", "       |       |       |");
	/* for ever */
	check_ends("..B.......B.......B.....", "       |       |       |");
}

static void test_an_anchor_that_comes_late_ends_nothing(void **state)
{
	(void)state;
	check_ends("..B.......A..B....A..B....A", "       |          |       |");
	/* ...but that of the next iteration does, whose backup has come */
	check_ends("..B.......B....A..B....A", "       |       |       |");
}

static void test_small_iterations(void **state)
{
	(void)state;
	/* the next iteration's backup comes before the patience is over */
	check_ends("B..AB..B..A", "   |   |  |");
}

static void test_other_threads_do_not_count(void **state)
{
	(void)state;
	check_ends("..B.,,,,,,,,...A..B....A", "               |       |");
	check_ends("..B.,,,,,,,,.......B....A", "               |        |");
}

/* Forward passes of an evaluation, which begin as steps do. */
static void test_anchors_that_come_early(void **state)
{
	(void)state;
	check_ends_apart(5, 4, "..B....A..A..A.A..B....A", "       |               |");
	check_ends_apart(0, 4, "..B....A..A..A.A..B....A", "       |               |");
	/* a backup that failed: the anchor counts */
	check_ends_apart(5, 4, "..B....A.......A..B....A", "       |       |       |");
	/* another thread's launches do not make it late */
	check_ends_apart(5, 4, "..B....A.,,,,,.A..B....A", "       |               |");
}

static void test_without_a_backup(void **state)
{
	(void)state;
	const struct iteration_anchors anchors = { .anchor = 1 };
	struct iteration iteration = { 0 };
	for (int i = 0; i < 20; i++)
		assert_false(iteration_is_moved(&iteration, &anchors, 0, 5));
	assert_true(iteration_is_moved(&iteration, &anchors, 0, 1) &&
		    iteration_take(&iteration, &anchors, 0, 20, 1));
	assert_false(iteration_waits(&iteration));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_anchor_counts),
		cmocka_unit_test(test_the_backup_stands_in),
		cmocka_unit_test(test_an_anchor_that_comes_late_ends_nothing),
		cmocka_unit_test(test_small_iterations),
		cmocka_unit_test(test_other_threads_do_not_count),
		cmocka_unit_test(test_a_backup_after_the_anchor),
		cmocka_unit_test(test_anchors_that_come_early),
		cmocka_unit_test(test_without_a_backup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
