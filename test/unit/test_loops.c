/* Iterations of loops, from the stacks of calls (loop_stacks.h, loop_tree.h). */
#include "test/unit/made_loops.h"

#include "core/steps/loop_repair.h"

static void test_each_iteration_is_counted(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, ".[..].", ".");
	launch(&f, 0);
	for (int i = 0; i < 5; i++) {
		launch(&f, 2);
		launch(&f, 3);
	}
	launch(&f, 5);
	loop_tree_end(&f.tree);
	const struct loop *l = loop_of(&f, 5);
	assert_non_null(l);
	assert_int_equal(l->n_runs, 1);
	assert_int_equal(l->n_calls, 10);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(l->iterations.at[i].n.launches, 2);
		assert_int_equal(l->iterations.at[i].launch, 1 + 2 * i);
	}
	stop(&f);
}

static void test_equal_places_begin_an_iteration(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.]", ".");
	for (int i = 0; i < 7; i++)
		launch(&f, 1);
	loop_tree_end(&f.tree);
	assert_non_null(loop_of(&f, 7));
	stop(&f);
}

/* Each iteration waits at 2 and launches at 3. The last call at 2 finds that the loop is over. */
static void test_the_test_that_ends_a_loop_is_no_iteration(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, ".[..].", ".");
	for (int run = 0; run < 2; run++) {
		launch(&f, 0);
		for (int i = 0; i < 5; i++) {
			wait(&f, 2);
			launch(&f, 3);
		}
		wait(&f, 2);
		launch(&f, 5);
	}
	const struct loop *l = loop_of(&f, 10);
	assert_non_null(l);
	assert_int_equal(l->n_runs, 2);
	assert_int_equal(l->n_calls, 22);
	assert_int_equal(l->iterations.at[4].n.calls, 3);
	assert_int_equal(l->iterations.at[5].n.calls, 2);
	stop(&f);
}

/* The program may have failed in the middle of its last iteration, or have left the loop there. */
static void test_a_last_iteration_that_does_work_counts(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, ".[..].", ".");
	for (int run = 0; run < 2; run++) {
		launch(&f, 0);
		for (int i = 0; i < 5; i++) {
			launch(&f, 2);
			wait(&f, 3);
		}
		launch(&f, 2);
		if (!run)
			launch(&f, 5);
	}
	loop_tree_end(&f.tree);
	assert_non_null(loop_of(&f, 12));
	stop(&f);
}

static void test_a_function_called_again_is_in_the_callers_loop(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.]", "..");
	for (int i = 0; i < 4; i++) {
		launch_in(&f, 1, HELPER, 0);
		launch_in(&f, 1, HELPER, 1);
	}
	loop_tree_end(&f.tree);
	const struct loop *l = loop_of(&f, 4);
	assert_non_null(l);
	assert_int_equal(l->n_calls, 8);
	stop(&f);
}

static void test_nested_loops_have_their_own_iterations(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[.].]", ".");
	for (int i = 0; i < 6; i++) {
		launch(&f, 1);
		for (int k = 0; k < 4; k++)
			launch(&f, 3);
		wait(&f, 5);
	}
	loop_tree_end(&f.tree);
	const struct loop *outer = loop_of(&f, 6), *inner = loop_of(&f, 24);
	assert_non_null(outer);
	assert_non_null(inner);
	assert_int_equal(inner->n_runs, 6);
	assert_ptr_equal(loop_tree_parent(&f.tree, inner), outer);
	assert_null(loop_tree_parent(&f.tree, outer));
	stop(&f);
}

static void test_a_missing_stack_is_skipped(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[..]", ".");
	call(&f, 1, LAUNCH, 0, 5);
	for (int i = 0; i < 6; i++) {
		launch(&f, 1);
		if (i == 2)
			call(&f, 1, LAUNCH, 0, 5);
		launch(&f, 2);
	}
	loop_tree_end(&f.tree);
	assert_non_null(loop_of(&f, 6));
	stop(&f);
}

static void test_a_tree_with_many_missing_stacks_is_not_whole(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.]", ".");
	for (int i = 0; i < 200; i++)
		launch(&f, 1);
	assert_true(loop_tree_is_whole(&f.tree));
	call(&f, 1, LAUNCH, 0, 5);
	assert_true(loop_tree_is_whole(&f.tree));
	for (int i = 0; i < 2; i++)
		call(&f, 1, LAUNCH, 0, 5);
	assert_false(loop_tree_is_whole(&f.tree));
	stop(&f);
}

/* Adds the calls of a step of main, "[...]", in which sum() at 2 launches `n` times. */
static void step_with_sum(struct fixture *f, int n)
{
	launch(f, 1);
	for (int i = 0; i < n; i++)
		launch(f, 2);
	launch(f, 3);
}

static void test_c_code_that_calls_again_is_no_iteration(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[...]", "...");
	for (int i = 0; i < 20; i++)
		step_with_sum(&f, 5);
	loop_tree_end(&f.tree);
	assert_non_null(loop_of(&f, 20));
	stop(&f);
	/* and a function that it calls */
	start(&f, "[...]", "...");
	for (int i = 0; i < 20; i++) {
		launch(&f, 1);
		for (int k = 0; k < 5; k++) {
			launch_in(&f, 2, HELPER, 0);
			launch_in(&f, 2, HELPER, 2);
		}
	}
	loop_tree_end(&f.tree);
	assert_non_null(loop_of(&f, 20));
	stop(&f);
}

/* Like step_with_sum(), but a function that main calls first has the sum(). */
static void test_c_code_that_calls_again_before_all_else_is_no_iteration(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[..]", "..");
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 5; k++)
			launch_in(&f, 1, HELPER, 1);
		if (!i)
			loop_repair(&f.tree); /* at this time, nothing can be known */
		launch(&f, 2);
	}
	loop_tree_end(&f.tree);
	loop_repair(&f.tree);
	const struct loop *l = loop_of(&f, 20);
	assert_non_null(l);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(l->iterations.at[i].n.launches, 6);
		assert_int_equal(l->iterations.at[i].launch, 6 * i);
	}
	stop(&f);
}

/* A call that a function of a native library makes, which main calls at a place. */
static void call_library(struct fixture *f, uint32_t at, uint16_t hook, uint32_t function)
{
	struct loop_stacks *s = &f->tree.stacks;
	uint64_t raw = frame_native(1, function), frames[] = { raw, frame(f, MAIN, at) };
	bool is_new;
	uint64_t *index = map_at(&s->frame_of_raw, raw, &is_new);
	if (is_new) {
		*index = s->frames.n;
		vec_push(&s->frames, ((struct loop_frame){ .raw = raw,
							   .at = function,
							   .function = FUNCTIONS + function,
							   .is = LOOP_FRAME_LIBRARY }));
	}
	call(f, 1, hook, stack(f, frames, 2), hook == COPY ? 200 + at : 0);
}

/*
 * PyTorch's pin_memory() looks at events only now and then, and the destructor of a pinned tensor
 * records one, at the place of the copy. Each copy is in an iteration of its own.
 */
static void test_upkeep_that_is_missing_hides_no_iteration(void **state)
{
	enum { PIN = 1, UPLOAD, DESTROY };
	struct fixture f;
	(void)state;
	start(&f, "[..]", ".");
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < i % 3; k++)
			call_library(&f, 1, QUERY, PIN);
		call_library(&f, 2, COPY, UPLOAD);
		call_library(&f, 2, EVENT, DESTROY);
	}
	loop_tree_end(&f.tree);
	loop_repair(&f.tree);
	const struct loop *l = loop_of(&f, 40);
	assert_non_null(l);
	for (int i = 0; i < 40; i++)
		assert_int_equal(l->iterations.at[i].n.launches, 1);
	stop(&f);
}

/* Destructors of several tensors record an event each, one after the other. */
static void test_upkeep_that_is_repeated_is_no_iteration(void **state)
{
	enum { PIN = 1, UPLOAD, DESTROY };
	struct fixture f;
	(void)state;
	start(&f, "[..]", ".");
	for (int i = 0; i < 40; i++) {
		call_library(&f, 1, QUERY, PIN);
		call_library(&f, 2, COPY, UPLOAD);
		for (int k = 0; k < 3; k++)
			call_library(&f, 2, EVENT, DESTROY);
	}
	loop_tree_end(&f.tree);
	loop_repair(&f.tree);
	assert_non_null(loop_of(&f, 40));
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_iteration_is_counted),
		cmocka_unit_test(test_equal_places_begin_an_iteration),
		cmocka_unit_test(test_the_test_that_ends_a_loop_is_no_iteration),
		cmocka_unit_test(test_a_last_iteration_that_does_work_counts),
		cmocka_unit_test(test_a_function_called_again_is_in_the_callers_loop),
		cmocka_unit_test(test_nested_loops_have_their_own_iterations),
		cmocka_unit_test(test_a_missing_stack_is_skipped),
		cmocka_unit_test(test_a_tree_with_many_missing_stacks_is_not_whole),
		cmocka_unit_test(test_c_code_that_calls_again_is_no_iteration),
		cmocka_unit_test(test_c_code_that_calls_again_before_all_else_is_no_iteration),
		cmocka_unit_test(test_upkeep_that_is_missing_hides_no_iteration),
		cmocka_unit_test(test_upkeep_that_is_repeated_is_no_iteration),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
