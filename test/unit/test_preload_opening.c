/* The opening's limits: which time counts, and how much room in the journal. */
#include "preload/opening.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { TICKS_PER_S = 1000, CHUNK_BYTES = 65536 };

static struct opening started(const char *text)
{
	struct opening_limits limits;
	struct opening o;
	assert_int_equal(opening_parse(text, &limits, NULL), 0);
	opening_start(&o, &limits, TICKS_PER_S, CHUNK_BYTES);
	return o;
}

/* Returns the tick at which the opening is used up if it looks every `every` ticks. */
static uint64_t used_up_at(struct opening *o, uint64_t every)
{
	uint64_t ticks = 5000;
	while (!opening_is_used_up(o, ticks, 0))
		ticks += every;
	return ticks - 5000;
}

static void test_time_counts_while_the_program_launches(void **state)
{
	(void)state;
	struct opening o = started("10s");
	assert_int_equal(used_up_at(&o, 10), 10 * TICKS_PER_S);
	assert_true(opening_is_used_up(&o, 20000, 0));
}

/* A long time without launches counts as one second: the program may be loading a model. */
static void test_a_pause_counts_as_a_second(void **state)
{
	(void)state;
	struct opening o = started("10s");
	assert_int_equal(used_up_at(&o, 100 * TICKS_PER_S), 10 * 100 * TICKS_PER_S);
}

static void test_room_in_the_journal(void **state)
{
	(void)state;
	struct opening o = started("64MB");
	assert_false(opening_is_used_up(&o, 1, 1023));
	assert_true(opening_is_used_up(&o, 2, 1024));
	o = started("64MB,10s");
	assert_false(opening_is_used_up(&o, 1, 1023));
	assert_true(opening_is_used_up(&o, 2, 1024));
}

static void test_gpu_timing_ends_before_the_first_graph(void **state)
{
	(void)state;
	struct opening o = started("10s");
	assert_true(opening_has_gpu(&o));
	assert_true(opening_before_graph(&o, false));
	assert_false(opening_has_gpu(&o));
	assert_false(opening_before_graph(&o, false));
	/* another thread launches while CUPTI is being taken down: it must not begin anew */
	for (int i = 0; i < 3; i++)
		assert_false(opening_before_launch(&o, 8, true));
	opening_start(&o, &(struct opening_limits){ 0 }, TICKS_PER_S, CHUNK_BYTES);
	assert_false(opening_before_graph(&o, false));
	for (int i = 0; i < 3; i++)
		assert_false(opening_before_graph(&o, true) || opening_before_launch(&o, 8, true));
}

static bool captured_and_launched(struct opening *o, uint64_t exec)
{
	assert_false(opening_before_graph(o, false));
	assert_false(opening_before_graph(o, true));
	return opening_before_launch(o, exec, true);
}

static void test_gpu_timing_begins_again_when_graphs_are_launched_again(void **state)
{
	(void)state;
	const uint64_t first = 4096, size = 64;
	struct opening o = started("10s"), other;
	opening_before_graph(&o, false);
	opening_has_stopped(&o);
	/* the first launch of each graph may only test it */
	for (uint64_t i = 0; i < 200; i++)
		assert_false(captured_and_launched(&o, first + size * i));
	other = o;
	assert_true(captured_and_launched(&o, first + size * 199));
	assert_true(opening_has_gpu(&o));
	assert_true(opening_before_launch(&other, first + size * 200, true));
	assert_true(opening_has_gpu(&other));
	/* from then on, GPU timing stays */
	assert_false(captured_and_launched(&o, first));
	assert_false(captured_and_launched(&o, first));
	assert_true(opening_has_gpu(&o));
}

/* The schedule's steps come long after the opening. */
static void test_gpu_timing_may_have_to_wait(void **state)
{
	(void)state;
	struct opening o = started("10s");
	opening_before_graph(&o, false);
	assert_false(opening_waits(&o));
	opening_has_stopped(&o);
	for (int i = 0; i < 3; i++)
		assert_false(opening_before_launch(&o, 8, false));
	assert_true(opening_waits(&o));
	assert_true(opening_before_launch(&o, 8, true));
	assert_false(opening_waits(&o));
}

static bool reaches(struct opening *o, uint64_t ticks, uint64_t chunks, uint64_t now, uint64_t step)
{
	return opening_reaches(o, (struct opening_look){ ticks, chunks, now }, step);
}

static void test_whether_a_step_is_in_the_opening(void **state)
{
	(void)state;
	struct opening o = started("10s");
	/* how long steps take is not known yet; setting up counts neither here nor there */
	assert_false(reaches(&o, 90000, 0, 2, 50));
	/* 0.1 s each */
	assert_true(reaches(&o, 91000, 0, 12, 112));
	assert_false(reaches(&o, 91000, 0, 12, 113));
	assert_true(reaches(&o, 91000, 0, 12, 12));
	assert_true(used_up_at(&o, 1000) >= 10000);
	assert_false(reaches(&o, 91000, 0, 12, 13));
	o = started("64MB");
	assert_false(reaches(&o, 90000, 24, 2, 50));
	/* one chunk of 1,024 each */
	assert_true(reaches(&o, 990000, 34, 12, 1002));
	assert_false(reaches(&o, 990000, 34, 12, 1003));
}

static void test_clocks_of_two_threads(void **state)
{
	(void)state;
	struct opening o = started("1s");
	assert_false(opening_is_used_up(&o, 5000, 0));
	assert_false(opening_is_used_up(&o, 4990, 0));
	assert_false(opening_is_used_up(&o, 5010, 0));
	assert_true(opening_is_used_up(&o, 6000, 0));
}

static void test_off(void **state)
{
	(void)state;
	struct opening_limits limits;
	struct opening o;
	assert_int_equal(opening_parse("off", &limits, NULL), 0);
	assert_false(opening_start(&o, &limits, TICKS_PER_S, CHUNK_BYTES));
	assert_false(opening_has_gpu(&o));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_counts_while_the_program_launches),
		cmocka_unit_test(test_a_pause_counts_as_a_second),
		cmocka_unit_test(test_room_in_the_journal),
		cmocka_unit_test(test_gpu_timing_ends_before_the_first_graph),
		cmocka_unit_test(test_gpu_timing_begins_again_when_graphs_are_launched_again),
		cmocka_unit_test(test_gpu_timing_may_have_to_wait),
		cmocka_unit_test(test_whether_a_step_is_in_the_opening),
		cmocka_unit_test(test_clocks_of_two_threads),
		cmocka_unit_test(test_off),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
