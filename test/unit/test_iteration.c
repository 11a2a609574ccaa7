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

/* Writes '|' below each launch that ends a step, if one anchor in `every` does. */
static void check_every(uint32_t every, int32_t begins_at, const char *launches, const char *ends)
{
	const struct iteration_anchors anchors = { .anchor = 'A', .every = every };
	struct iteration iteration = { 0 };
	iteration_begin(&iteration, &anchors);
	iteration.n_anchors = begins_at;
	for (uint32_t i = 0; launches[i]; i++) {
		bool moves = iteration_is_moved(&iteration, &anchors, 0, (uint64_t)launches[i]),
		     is_end = moves &&
			      iteration_take(&iteration, &anchors, 0, i, (uint64_t)launches[i]);
		assert_int_equal(is_end, ends[i] == '|');
	}
}

static void test_one_anchor_in_several(void **state)
{
	(void)state;
	check_every(0, 0, "A..A.A", "|  | |");
	check_every(3, 0, "A..A.A.AAA.A", "     |   |  ");
	/* the library began to count in the middle of a step */
	check_every(3, -2, "A..A.A.AAA.A", "        |   ");
	check_every(3, 1, "A..A.A.AAA.A", "   |    |   ");
}

static void test_where_anchors_end_steps(void **state)
{
	(void)state;
	for (uint32_t lead = 0; lead < 4; lead++) {
		uint64_t n_ended = 0;
		for (uint64_t n = 1; n < 50; n++) {
			n_ended += iteration_ends_at(n, 4, lead);
			assert_int_equal(iteration_n_ended(n, 4, lead), n_ended);
		}
		assert_true(iteration_ends_at(lead ? lead : 4, 4, lead));
	}
	assert_true(iteration_ends_at(7, 0, 0));
	assert_int_equal(iteration_n_ended(7, 0, 0), 7);
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
		cmocka_unit_test(test_one_anchor_in_several),
		cmocka_unit_test(test_where_anchors_end_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
