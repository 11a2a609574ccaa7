/* Loops whose iterations launch graphs (loop_graphs.h). */
#include "test/unit/made_loops.h"

enum { GRAPH_A = 1, GRAPH_B, EXEC = 10, OUTER_EXEC };

static void test_a_launch_of_a_graph_counts_what_was_captured(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "...[.]", ".");
	change(&f, GRAPH_MADE, GRAPH_A, 0);
	capture(&f, GRAPH_A, 0, MAIN);
	capture(&f, GRAPH_A, 1, MAIN);
	capture(&f, GRAPH_A, 2, STEP);
	change(&f, GRAPH_INSTANTIATED, GRAPH_A, EXEC);
	change(&f, GRAPH_GONE, GRAPH_A, 0);
	for (int i = 0; i < 5; i++)
		replay(&f, 4, EXEC);
	loop_tree_end(&f.tree);
	const struct loop *l = loop_of(&f, 5);
	assert_non_null(l);
	assert_int_equal(l->n_calls, 5 * (1 + 3));
	assert_int_equal(l->n_steps, 5);
	assert_int_equal(l->n_others, 5 * (1 + 2));
	assert_int_equal(l->n_replayed, 5 * 3);
	/* the fixture's last call has no length */
	assert_int_equal(l->ticks, 5 * (1000 + 3 * 1000) - 1000);
	stop(&f);
}

static void test_a_graph_counts_the_graphs_in_it(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "...[.]", ".");
	change(&f, GRAPH_MADE, GRAPH_A, 0);
	capture(&f, GRAPH_A, 2, STEP);
	change(&f, GRAPH_MADE, GRAPH_B, 0);
	capture(&f, GRAPH_B, 0, MAIN);
	struct rec_node child = { .kind = REC_NODE,
				  .type = NODE_CHILD,
				  .begin_ticks = f.now,
				  .graph = GRAPH_B,
				  .arg = GRAPH_A };
	loop_tree_feed_graph(&f.tree, 1, (const struct rec_head *)&child);
	change(&f, GRAPH_INSTANTIATED, GRAPH_B, OUTER_EXEC);
	change(&f, GRAPH_MADE, GRAPH_A, 0); /* another graph at the same address */
	change(&f, GRAPH_INSTANTIATED, GRAPH_A, EXEC);
	for (int i = 0; i < 3; i++)
		replay(&f, 4, OUTER_EXEC);
	for (int i = 0; i < 3; i++)
		replay(&f, 4, EXEC);
	loop_tree_end(&f.tree);
	const struct loop *l = loop_of(&f, 6);
	assert_non_null(l);
	assert_int_equal(l->n_steps, 3);
	assert_int_equal(l->n_replayed, 3 * 3);
	stop(&f);
}

/*
 * A program that warms up a step `n` times, captures and replays it. The first warm-up takes long.
 * The captured step has the same launches. With `is_other`, the loop before launches other kernels.
 */
static void warm_up_and_replay(struct fixture *f, int n, bool is_other)
{
	start(f, "[.........]..[..].........", ".");
	uint32_t shift = is_other ? 16 : 0;
	for (int i = 0; i < n; i++) {
		for (uint32_t at = 1; at < 9; at++) {
			uint64_t frames[] = { frame(f, MAIN, at) };
			call(f, 1, LAUNCH, stack(f, frames, 1), 100 + shift + at);
		}
		launch_in(f, 9, STEP, 0);
		f->now += i ? 100000 : 10000000;
	}
	change(f, GRAPH_MADE, GRAPH_A, 0);
	for (uint32_t at = 1; at < 9; at++)
		capture(f, GRAPH_A, at, MAIN);
	capture(f, GRAPH_A, 9, STEP);
	change(f, GRAPH_INSTANTIATED, GRAPH_A, EXEC);
	for (int i = 0; i < 40; i++) {
		replay(f, 14, EXEC);
		wait(f, 15);
	}
}

static void test_replayed_steps_are_the_steps_and_not_the_warm_up(void **state)
{
	struct fixture f;
	(void)state;
	warm_up_and_replay(&f, 3, false);
	check_choice(&f, 40, 0.95, 1);
	stop(&f);
}

static void test_training_of_other_kernels_before_the_replays_counts_too(void **state)
{
	struct fixture f;
	(void)state;
	warm_up_and_replay(&f, 3, true);
	check_choice(&f, 43, 0.95, 1);
	stop(&f);
}

static void test_a_loop_of_replays_outweighs_a_longer_warm_up(void **state)
{
	struct fixture f;
	(void)state;
	/* without an optimizer: the warm-up takes 20 us, the replays 8 us on the CPU */
	start(&f, "[..]....[.].", ".");
	for (int i = 0; i < 10; i++) {
		launch(&f, 1);
		launch(&f, 2);
	}
	change(&f, GRAPH_MADE, GRAPH_A, 0);
	capture(&f, GRAPH_A, 4, MAIN);
	capture(&f, GRAPH_A, 5, MAIN);
	capture(&f, GRAPH_A, 6, MAIN);
	change(&f, GRAPH_INSTANTIATED, GRAPH_A, EXEC);
	for (int i = 0; i < 8; i++)
		replay(&f, 9, EXEC);
	wait(&f, 11);
	check_choice(&f, 8, 0.5, 1);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_launch_of_a_graph_counts_what_was_captured),
		cmocka_unit_test(test_a_graph_counts_the_graphs_in_it),
		cmocka_unit_test(test_replayed_steps_are_the_steps_and_not_the_warm_up),
		cmocka_unit_test(test_training_of_other_kernels_before_the_replays_counts_too),
		cmocka_unit_test(test_a_loop_of_replays_outweighs_a_longer_warm_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
