/* Which loop is the step, and how sure that is (loop_choice.h). */
#include "test/unit/made_loops.h"

#include "core/steps/learn.h"

static void test_a_plain_loop_is_the_step(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[...]", ".");
	for (int i = 0; i < 20; i++) {
		launch(&f, 1);
		launch(&f, 2);
		wait(&f, 3);
	}
	check_choice(&f, 20, 0.95, 1);
	stop(&f);
}

static void test_epochs_are_not_steps(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[..]]", ".");
	for (int i = 0; i < 3; i++) {
		launch(&f, 1);
		for (int k = 0; k < 30; k++) {
			launch(&f, 3);
			wait(&f, 4);
		}
	}
	check_choice(&f, 90, 0.3, 0.99);
	stop(&f);
}

/* Many rounds of many launches: the inner loop is a loop of batches for sure only if it talks to
 * the host. Without that, its iterations may be cells of one step. */
static void test_many_rounds_of_launches_alone_are_unclear(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[.].]", ".");
	for (int i = 0; i < 40; i++) {
		launch(&f, 1);
		for (int k = 0; k < 100; k++)
			launch(&f, 3);
		launch(&f, 5);
	}
	check_choice(&f, 4000, 0.4, 0.69);
	stop(&f);
}

static void test_many_rounds_of_batches_are_steps(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[..]]", ".");
	for (int i = 0; i < 40; i++) {
		launch(&f, 1);
		for (int k = 0; k < 100; k++) {
			launch(&f, 3);
			wait(&f, 4);
		}
	}
	check_choice(&f, 4000, 0.8, 0.99);
	stop(&f);
}

static void test_a_step_of_four_stages(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[[..].]", ".");
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 4; k++) {
			launch(&f, 2);
			launch(&f, 3);
		}
		wait(&f, 5);
	}
	check_choice(&f, 100, 0.9, 1);
	stop(&f);
}

static void test_the_loop_around_the_optimizer_is_the_step(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[..].]", ".");
	for (int i = 0; i < 2; i++) {
		launch(&f, 1);
		for (int k = 0; k < 12; k++) {
			launch(&f, 3);
			launch_in(&f, 4, STEP, 0);
		}
		wait(&f, 6);
	}
	check_choice(&f, 24, 0.95, 1);
	stop(&f);
}

static void test_micro_batches_make_one_step(void **state)
{
	struct fixture f;
	struct loop_choice c;
	(void)state;
	start(&f, "[..]", ".");
	for (int i = 0; i < 40; i++) {
		launch(&f, 1);
		if (i % 4 == 3)
			launch_in(&f, 2, STEP, 0);
	}
	loop_tree_end(&f.tree);
	assert_true(loop_choose(&f.tree, &c));
	assert_true(c.is_grouped);
	assert_int_equal(c.begins.n, 10);
	loop_choice_free(&c);
	stop(&f);
}

static void test_an_outer_loop_that_no_call_shows_lowers_the_confidence(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[[.]]", ".");
	for (int i = 0; i < 50; i++)
		launch(&f, 2);
	check_choice(&f, 50, 0.3, 0.69);
	stop(&f);
}

/* The loop around shows in each fourth of its iterations only. */
static void test_a_loop_that_calls_show_now_and_then_is_unclear(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.([.])]", "[.]");
	for (int i = 0; i < 120; i++) {
		for (int k = 0; k < 4; k++)
			launch_in(&f, 1, HELPER, 1);
		for (int k = 0; k < 3 && i % 4 == 3; k++)
			wait(&f, 4);
	}
	check_choice(&f, 480, 0.3, 0.69);
	assert_true(loop_is_hidden(&f.tree, loop_of(&f, 30)->place));
	assert_true(loop_is_hidden(&f.tree, loop_of(&f, 480)->place));
	stop(&f);
}

/* The same in each iteration: two inner loops in turn show it. */
static void test_two_loops_in_turn_show_the_loop_around(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[.]]", "[.]");
	for (int i = 0; i < 120; i++) {
		for (int k = 0; k < 4; k++)
			launch_in(&f, 1, HELPER, 1);
		for (int k = 0; k < 3; k++)
			wait(&f, 3);
	}
	check_choice(&f, 120, 0.7, 1);
	assert_false(loop_is_hidden(&f.tree, loop_of(&f, 120)->place));
	stop(&f);
}

/* A loop over hooks, one of which steps: the step is what calls the hooks. */
static void test_a_loop_with_one_optimizer_step_is_a_part(void **state)
{
	struct fixture f;
	struct loop_choice c;
	(void)state;
	start(&f, "[.[..]]", ".");
	for (int i = 0; i < 20; i++) {
		launch(&f, 1);
		for (int hook = 0; hook < 3; hook++) {
			launch(&f, 3);
			if (hook == 0)
				launch_in(&f, 4, STEP, 0);
		}
	}
	loop_tree_end(&f.tree);
	assert_true(loop_choose(&f.tree, &c));
	assert_false(c.is_grouped);
	assert_int_equal(f.tree.loops.at[c.loop].iterations.n, 20);
	loop_choice_free(&c);
	stop(&f);
}

/* A launch of `slot`, in the function that main calls at 1; its place 2 is an optimizer's step. */
static void train_on(struct fixture *f, uint32_t slot, uint32_t at)
{
	uint64_t frames[] = { frame(f, STEP, 0), frame(f, HELPER, at), frame(f, MAIN, 1) };
	uint16_t skipped = at != 2;
	call(f, slot, LAUNCH, stack(f, frames + skipped, 3 - skipped), at);
}

/* A training loop in a function that main calls at `at`, `n` times. */
static void train_at(struct fixture *f, uint32_t at, int n)
{
	for (int i = 0; i < n; i++)
		for (uint32_t inner = 1; inner < 3; inner++) {
			uint64_t frames[] = { frame(f, STEP, 0), frame(f, HELPER, inner),
					      frame(f, MAIN, at) };
			uint16_t skipped = inner != 2;
			call(f, 1, LAUNCH, stack(f, frames + skipped, 3 - skipped), inner);
		}
}

/* One model after the other, by the same function. */
static void test_two_trainings_count_once(void **state)
{
	struct fixture f;
	struct loop_choice c;
	(void)state;
	start(&f, "..", "[..]");
	train_at(&f, 0, 60);
	train_at(&f, 1, 120);
	loop_tree_end(&f.tree);
	assert_true(loop_choose(&f.tree, &c));
	assert_int_equal(c.begins.n, 180);
	loop_choice_free(&c);
	stop(&f);
}

/* Two threads take jobs, and their jobs overlap. All optimizer steps are in the jobs' loop. */
static void test_jobs_on_several_threads_do_not_step_themselves(void **state)
{
	struct fixture f;
	struct loop_choice c;
	(void)state;
	start(&f, "[.]", "[..].");
	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 4; k++)
			for (uint32_t slot = 1; slot < 4; slot++) {
				train_on(&f, slot, 1);
				train_on(&f, slot, 2);
			}
		for (uint32_t slot = 1; slot < 4; slot++)
			train_on(&f, slot, 4);
	}
	loop_tree_end(&f.tree);
	assert_true(loop_choose(&f.tree, &c));
	assert_int_equal(c.begins.n, 120);
	loop_choice_free(&c);
	stop(&f);
}

/*
 * Returns the anchor that the library gets in the opening of a training, whose steps end with
 * launch 2. Launches have shown steps that end with launch 1.
 */
static uint64_t anchor_told(enum step_state state, uint64_t by_launches)
{
	struct fixture f;
	struct journal_header header = { 0 };
	struct ingest in = { .reader.header = &header, .opening.is_any = true };
	struct learn l = { .state = state,
			   .choice = { .anchor = by_launches, .calls_per_step = 2 } };
	start(&f, ".", "[..]");
	train_at(&f, 0, 40);
	l.loops.is_started = true;
	l.loops.tree = f.tree;
	header.steps.anchor = by_launches;
	learn_compare(&l, &in);
	assert_int_equal(l.state, STEP_STATE_CONFIRMED);
	assert_true(l.choice.boundary == LEVEL_BY_LOOP || l.choice.anchor == by_launches);
	loop_choice_free(&l.loops.choice);
	f.tree = l.loops.tree;
	stop(&f);
	return header.steps.anchor;
}

/* The library takes no other anchor once it has a confirmed one. */
static void test_a_clear_loop_decides_until_steps_are_confirmed(void **state)
{
	(void)state;
	assert_int_equal(anchor_told(STEP_STATE_PROVISIONAL, 1), 2);
	assert_int_equal(anchor_told(STEP_STATE_PROVISIONAL, 77), 2);
	assert_int_equal(anchor_told(STEP_STATE_CONFIRMED, 1), 1);
	assert_int_equal(anchor_told(STEP_STATE_CONFIRMED, 77), 77);
}

static void test_nothing_repeats(void **state)
{
	struct fixture f;
	struct loop_choice c;
	(void)state;
	start(&f, "....", ".");
	for (uint32_t i = 0; i < 4; i++)
		launch(&f, i);
	loop_tree_end(&f.tree);
	assert_false(loop_choose(&f.tree, &c));
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_plain_loop_is_the_step),
		cmocka_unit_test(test_epochs_are_not_steps),
		cmocka_unit_test(test_many_rounds_of_launches_alone_are_unclear),
		cmocka_unit_test(test_many_rounds_of_batches_are_steps),
		cmocka_unit_test(test_a_step_of_four_stages),
		cmocka_unit_test(test_the_loop_around_the_optimizer_is_the_step),
		cmocka_unit_test(test_micro_batches_make_one_step),
		cmocka_unit_test(test_an_outer_loop_that_no_call_shows_lowers_the_confidence),
		cmocka_unit_test(test_a_loop_that_calls_show_now_and_then_is_unclear),
		cmocka_unit_test(test_two_loops_in_turn_show_the_loop_around),
		cmocka_unit_test(test_a_loop_with_one_optimizer_step_is_a_part),
		cmocka_unit_test(test_two_trainings_count_once),
		cmocka_unit_test(test_jobs_on_several_threads_do_not_step_themselves),
		cmocka_unit_test(test_a_clear_loop_decides_until_steps_are_confirmed),
		cmocka_unit_test(test_nothing_repeats),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
