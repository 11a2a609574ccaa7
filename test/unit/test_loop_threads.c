/* Loops of programs that create threads (loop_births.h). */
#include "test/unit/made_loops.h"

#include "core/steps/loop_births.h"

static void thread_event(struct fixture *f, uint32_t slot, enum thread_event event, uint32_t at)
{
	uint64_t frames[] = { frame(f, MAIN, at) };
	const struct rec_thread r = { .event = (uint16_t)event,
				      .stack = stack(f, frames, 1),
				      .ticks = f->now,
				      .creator = 1 };
	loop_tree_feed_thread(&f->tree, slot, &r);
	f->now += event != THREAD_BEGINS;
}

static void launch_on_thread(struct fixture *f, uint32_t slot)
{
	uint64_t frames[] = { frame(f, HELPER, 1) };
	call(f, slot, LAUNCH, stack(f, frames, 1), 7);
}

/* Three threads per iteration, in slots that threads of the iteration before have used. */
static void test_threads_belong_to_the_loop_that_joins_them(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[[.].]", "[.]");
	for (int i = 0; i < 10; i++) {
		for (uint32_t slot = 2; slot < 5; slot++) {
			thread_event(&f, 1, THREAD_CREATES, 2);
			thread_event(&f, slot, THREAD_BEGINS, 2);
		}
		for (uint32_t slot = 2; slot < 5; slot++) {
			launch_on_thread(&f, slot);
			launch_on_thread(&f, slot);
		}
		thread_event(&f, 1, THREAD_JOINS, 4);
	}
	loop_tree_end(&f.tree);
	for (int again = 0; again < 2; again++) {
		loop_births_link(&f.tree);
		const struct loop *outer = loop_of(&f, 10), *inner = loop_of(&f, 60);
		assert_int_equal(outer->n_calls, 60);
		assert_int_equal(outer->n_others, 60);
		assert_int_equal(inner->n_calls, 60);
		assert_ptr_equal(loop_tree_parent(&f.tree, inner), outer);
	}
	struct loop_choice c;
	assert_true(loop_choose(&f.tree, &c));
	assert_int_equal(c.begins.n, 10);
	loop_choice_free(&c);
	stop(&f);
}

/* When the loader's loop finds that there is no further batch, it ends its helper threads, one of
 * which it has to start for this. */
static void test_the_last_look_for_a_batch_is_no_iteration(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[..]]", "[.]");
	for (int epoch = 0; epoch < 4; epoch++) {
		uint64_t created = f.now;
		thread_event(&f, 1, THREAD_CREATES, 1);
		f.now = created; /* both records have the same time */
		thread_event(&f, 2, THREAD_BEGINS, 1);
		f.now = created + 1;
		for (int batch = 0; batch < 30; batch++) {
			launch(&f, 3);
			wait(&f, 4);
		}
		thread_event(&f, 1, THREAD_CREATES, 3);
		thread_event(&f, 1, THREAD_JOINS, 4);
	}
	loop_tree_end(&f.tree);
	for (int again = 0; again < 2; again++) {
		loop_births_link(&f.tree);
		struct loop_choice c;
		assert_true(loop_choose(&f.tree, &c));
		assert_int_equal(c.begins.n, 120);
		loop_choice_free(&c);
	}
	stop(&f);
}

/* Threads that go on after the iteration that created them belong to none. */
static void test_threads_of_a_pool_belong_to_no_loop(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.]", "[.]");
	for (uint32_t slot = 2; slot < 5; slot++) {
		thread_event(&f, 1, THREAD_CREATES, 1);
		thread_event(&f, slot, THREAD_BEGINS, 1);
	}
	for (uint32_t i = 0; i < 30; i++)
		launch_on_thread(&f, 2 + i % 3);
	loop_tree_end(&f.tree);
	loop_births_link(&f.tree);
	const struct loop *requests = loop_of(&f, 30);
	assert_null(loop_tree_parent(&f.tree, requests));
	assert_int_equal(requests->n_calls, 30);
	assert_null(loop_of(&f, 3));
	struct loop_choice c;
	assert_true(loop_choose(&f.tree, &c));
	assert_int_equal(c.begins.n, 30);
	loop_choice_free(&c);
	stop(&f);
}

/* A thread that does most of each step has the same steps. One with two iterations per step could
 * be meant instead. */
static void test_a_thread_that_takes_turns_is_no_other_step(void **state)
{
	(void)state;
	for (int per_step = 1; per_step <= 2; per_step++) {
		struct fixture f;
		struct loop_choice c;
		start(&f, "[..]", "[..]");
		for (int i = 0; i < 20; i++) {
			launch(&f, 1);
			for (int k = 0; k < 16; k++) {
				bool begins = k % (16 / per_step) == 0;
				uint64_t frames[] = { frame(&f, HELPER, begins ? 1 : 2) };
				call(&f, 2, LAUNCH, stack(&f, frames, 1), 300 + begins);
			}
			launch(&f, 2);
		}
		loop_tree_end(&f.tree);
		assert_true(loop_choose(&f.tree, &c));
		assert_int_equal(c.other == LOOP_NONE, per_step == 1);
		loop_choice_free(&c);
		stop(&f);
	}
}

/*
 * A thread makes what another one uses, up to four iterations ahead. They have the same steps, and
 * those of the thread that makes most calls count.
 */
static void test_a_thread_that_feeds_another_is_no_other_step(void **state)
{
	(void)state;
	for (int is_fed = 0; is_fed < 2; is_fed++) {
		struct fixture f;
		struct loop_choice c;
		start(&f, "[....]", "[..]");
		for (int i = 0; i < 80; i++) {
			for (int k = 0; i % 4 == 0 && k < (is_fed ? 4 : 12); k++) {
				uint64_t frames[] = { frame(&f, HELPER, 1) };
				call(&f, 2, COPY, stack(&f, frames, 1), 300);
				f.now += 2000;
			}
			for (uint32_t at = 1; at <= 4; at++)
				launch(&f, at);
		}
		loop_tree_end(&f.tree);
		assert_true(loop_choose(&f.tree, &c));
		assert_int_equal(c.other == LOOP_NONE, is_fed);
		if (is_fed) {
			assert_int_equal(c.begins.n, 80);
			assert_int_equal(c.begins.at[0].slot, 1);
			assert_true(c.confidence > 0.9);
		}
		loop_choice_free(&c);
		stop(&f);
	}
}

/*
 * A function launches in a loop, and reads a result in each third call of it. Between the other
 * calls, nothing shows the loop that calls the function. If it reads one each time, all is seen.
 */
static void test_a_read_now_and_then_does_not_show_each_step(void **state)
{
	(void)state;
	for (uint32_t every = 1; every <= 3; every += 2) {
		struct fixture f;
		struct loop_choice c;
		start(&f, "[.]", every == 1 ? "[.] . " : "[.](.)");
		for (uint32_t i = 0; i < 60; i++) {
			for (int k = 0; k < 5; k++)
				launch_in(&f, 1, HELPER, 1);
			if (i % every == 0)
				launch_in(&f, 1, HELPER, 4);
		}
		loop_tree_end(&f.tree);
		assert_true(loop_choose(&f.tree, &c));
		assert_int_equal(c.is_seen, every == 1);
		assert_int_equal(c.confidence > 0.7, every == 1);
		loop_choice_free(&c);
		stop(&f);
	}
}

/* Two threads run the same loop of the source for a part of each step, as with OpenMP. That both go
 * round as often does not make one of them the step. */
static void test_a_loop_that_threads_share_stays_unclear(void **state)
{
	struct fixture f;
	struct loop_choice c;
	(void)state;
	start(&f, ".", "[..]");
	for (int i = 0; i < 80; i++)
		for (uint32_t at = 1; at <= 2; at++) {
			uint64_t frames[] = { frame(&f, HELPER, at), frame(&f, MAIN, 0) };
			bool is_main = i / 4 % 2;
			uint16_t n = is_main ? 2 : 1;
			call(&f, is_main ? 1 : 2, LAUNCH, stack(&f, frames, n), 300 + at);
		}
	loop_tree_end(&f.tree);
	assert_true(loop_choose(&f.tree, &c));
	assert_true(c.confidence < 0.7);
	loop_choice_free(&c);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_belong_to_the_loop_that_joins_them),
		cmocka_unit_test(test_the_last_look_for_a_batch_is_no_iteration),
		cmocka_unit_test(test_threads_of_a_pool_belong_to_no_loop),
		cmocka_unit_test(test_a_thread_that_takes_turns_is_no_other_step),
		cmocka_unit_test(test_a_thread_that_feeds_another_is_no_other_step),
		cmocka_unit_test(test_a_read_now_and_then_does_not_show_each_step),
		cmocka_unit_test(test_a_loop_that_threads_share_stays_unclear),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
