/* The launches that end the iterations of the chosen loop (loop_anchor.h, loop_repair.h). */
#include "test/unit/made_loops.h"

#include "core/runtime/token.h"
#include "core/steps/learn.h"
#include "core/steps/loop_anchor.h"

/*
 * A step of main, "[....[.]...]": it launches `inner` times inside, then at `last`. The trigrams
 * differ for different places, and from the third launch inside on they are the same.
 */
static void step(struct fixture *f, int inner, uint32_t last)
{
	launch(f, 1);
	for (int i = 0; i < inner; i++)
		launch(f, 6);
	launch(f, last);
}

/* Searches the anchor of the loop that has `n` iterations. Returns whether there is one. */
static bool find_anchor_of(struct fixture *f, size_t n, bool by_optimizer, struct loop_anchor *out)
{
	struct loop_choice c;
	const struct loop *l = loop_of(f, n);
	assert_non_null(l);
	assert_true(loop_choose_this(&f->tree, l->place, &c));
	c.by_optimizer = by_optimizer;
	bool found = loop_anchor_find(&f->tree, &c, out);
	loop_choice_free(&c);
	return found;
}

static bool find_anchor(struct fixture *f, size_t n, struct loop_anchor *out)
{
	return find_anchor_of(f, n, false, out);
}

static void test_the_anchor_is_the_last_launch_of_each_step(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[....[.]...]", ".");
	for (int i = 0; i < 31; i++)
		step(&f, 2 + i % 3, 8);
	assert_true(find_anchor(&f, 30, &a));
	assert_int_equal(a.hash, 108);
	assert_int_equal(a.every, 0);
	assert_int_equal(a.n, 31);
	assert_int_equal(a.n_missed, 0);
	stop(&f);
}

/* The ends of the steps differ, so the only common launch is the first one. */
static void test_an_anchor_at_the_begin_ends_the_step_before(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[....[.]...]", ".");
	for (uint32_t i = 0; i < 31; i++)
		step(&f, 5, 8 + i % 3);
	assert_true(find_anchor(&f, 30, &a));
	assert_int_equal(a.hash, 101);
	assert_int_equal(a.n_missed, -1);
	stop(&f);
}

/* The trigrams of all steps differ, but each has one launch of a kind. */
static void test_a_single_launch_is_an_anchor(void **state)
{
	enum { STEPS = 31, KIND = 42 };
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[....[.]...]", ".");
	for (uint32_t i = 0; i < STEPS; i++)
		step(&f, 2, 8);
	struct loop_thread *t = &f.tree.threads.at[0];
	for (size_t k = 0; k < t->hashes.n; k++)
		t->hashes.at[k] = (struct token_hashes){ 1001 + 2 * k, k % 4 ? 4 : KIND };
	assert_true(find_anchor(&f, STEPS - 1, &a));
	assert_int_equal(a.hash, KIND);
	assert_int_equal(a.every, 0);
	assert_int_equal(a.n, STEPS);
	/* but not if it occurs elsewhere, too */
	t->hashes.at[21].single = KIND;
	assert_false(find_anchor(&f, STEPS - 1, &a) && a.hash == KIND);
	stop(&f);
}

/* What happens in the first step says nothing about the number of steps. */
static void test_steps_are_counted_by_the_loop(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[....[.]...]", ".");
	for (int i = 0; i < 31; i++)
		step(&f, 2, 8);
	struct loop_thread *t = &f.tree.threads.at[0];
	t->hashes.at[1] = t->hashes.at[3];
	assert_true(find_anchor(&f, 30, &a));
	assert_int_equal(a.hash, 108);
	assert_int_equal(a.n, 32);
	assert_int_equal(a.n_ended, 31);
	stop(&f);
}

enum { LONG_STEP = 24, BACKUP_APART = 12 };

/* Makes a step with a launch at each place. Trigrams after the first `unique` occur twice. */
static void long_step(struct fixture *f, uint32_t unique)
{
	for (uint32_t at = 1; at <= LONG_STEP; at++)
		launch(f, at);
	struct loop_thread *t = &f->tree.threads.at[0];
	for (size_t k = t->hashes.n - LONG_STEP + unique; k < t->hashes.n; k++)
		t->hashes.at[k] = (struct token_hashes){ 1000 + k % 2, 2000 };
}

static void test_a_step_without_its_anchor_ends_by_the_backup(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[........................]", ".");
	for (int i = 0; i < 31; i++)
		long_step(&f, LONG_STEP);
	assert_true(find_anchor(&f, 30, &a));
	assert_int_equal(a.hash, 100 + LONG_STEP);
	assert_int_equal(a.distance, 0);
	assert_int_equal(a.backup, 100 + LONG_STEP - BACKUP_APART);
	assert_int_equal(a.backup_within, BACKUP_APART);
	/* an evaluation after the training of an epoch may launch the backup, too */
	assert_true(find_anchor_of(&f, 30, true, &a));
	assert_int_equal(a.hash, 100 + LONG_STEP);
	assert_int_equal(a.backup, 0);
	stop(&f);
}

/* As with two evaluations after the optimizer, whose launches are the same. */
static void test_an_anchor_far_from_the_end_says_so(void **state)
{
	enum { SAME = 6 };
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[........................]", ".");
	for (int i = 0; i < 31; i++)
		long_step(&f, LONG_STEP - SAME);
	assert_true(find_anchor(&f, 30, &a));
	assert_int_equal(a.hash, 100 + LONG_STEP - SAME);
	assert_int_equal(a.distance, SAME);
	stop(&f);
}

static void test_few_steps_have_no_anchor(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[....[.]...]", ".");
	for (int i = 0; i < 16; i++)
		step(&f, 2, 8);
	assert_false(find_anchor(&f, 15, &a));
	stop(&f);
}

/* Makes `n` steps of `rounds` launches that complete the same trigram; the first has one less. */
static void equal_rounds(struct fixture *f, int n, int rounds)
{
	for (int i = 0; i < n; i++) {
		for (int k = i ? 0 : 1; k < rounds; k++)
			launch(f, 2);
		wait(f, 4);
	}
}

static void test_one_anchor_in_several_ends_a_step(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[[.].]", ".");
	equal_rounds(&f, 40, 4);
	assert_true(find_anchor(&f, 39, &a));
	assert_int_equal(a.hash, 102);
	assert_int_equal(a.every, 4);
	/* three launches end step 0, and then four end each step */
	assert_int_equal(a.lead, 3);
	assert_int_equal(a.n_missed, 0);
	stop(&f);
}

/* With one round more in one step, all later steps would end in the middle of an iteration. */
static void test_rounds_that_differ_are_no_anchor(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[[.].]", ".");
	equal_rounds(&f, 20, 4);
	launch(&f, 2);
	launch(&f, 2);
	equal_rounds(&f, 20, 4);
	assert_false(find_anchor(&f, 39, &a));
	stop(&f);
}

/* Two loops with equal counts, of which the first one takes more time. */
static void test_an_anchor_counts_the_loop_that_has_it_in_each_iteration(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[..][..]", ".");
	for (int i = 0; i < 20; i++) {
		launch(&f, 1);
		launch(&f, 2);
		f.now += 5000;
	}
	for (int i = 0; i < 20; i++) {
		launch(&f, 5);
		launch(&f, 6);
	}
	loop_tree_end(&f.tree);
	struct learn_loops x = { .tree = f.tree, .is_started = true };
	for (uint32_t at = 1; at < 7; at += at == 2 ? 3 : 1) {
		int64_t match =
			learn_loops_match(&x, &(struct anchor_counts){ .anchor = 100 + at });
		assert_true(match >= 0);
		const struct loop_place *p = &f.tree.stacks.places.at[match];
		assert_int_equal(p->sites.at[0].at < 3, at < 3);
	}
	stop(&f);
}

/* A server's iterations have only the copies in common: to the device, and of the result back. */
static void test_exchanges_count_a_loop(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[...]", ".");
	for (uint64_t i = 0; i < 20; i++)
		for (uint32_t at = 1; at < 4; at++) {
			uint64_t frames[] = { frame(&f, MAIN, at) };
			struct rec_call c = { .kind = REC_CALL,
					      .hook = at == 2 ? LAUNCH : COPY,
					      .stack = stack(&f, frames, 1),
					      .detail = at == 1 ? COPY_H2D : COPY_D2H,
					      .begin_ticks = f.now += 1000,
					      .arg = 1000 + i };
			c.detail = at == 2 ? 0 : c.detail;
			loop_tree_feed(&f.tree, 1, &c,
				       (struct token_hashes){ 5001 + 10 * i + 2 * at, 0 });
		}
	loop_tree_end(&f.tree);
	struct learn_loops x = { .tree = f.tree, .is_started = true };
	int64_t match = learn_loops_match(&x, &(struct anchor_counts){ .anchor = TOKEN_EXCHANGE });
	assert_true(match >= 0);
	assert_int_equal(f.tree.loops.at[match].iterations.n, 20);
	stop(&f);
}

/* As many as a loop has iterations, but all of them in its first half. */
static void test_an_anchor_of_some_iterations_counts_no_loop(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[..]", ".");
	for (int i = 0; i < 20; i++) {
		launch(&f, 1);
		if (i < 10)
			launch(&f, 1 + 1);
	}
	loop_tree_end(&f.tree);
	for (size_t k = 0; k < 20; k++)
		f.tree.threads.at[0].hashes.at[k].trigram = 9;
	struct learn_loops x = { .tree = f.tree, .is_started = true };
	assert_int_equal(learn_loops_match(&x, &(struct anchor_counts){ .anchor = 9 }), -1);
	assert_true(learn_loops_match(&x, &(struct anchor_counts){ .anchor = 101 }) < 0);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_anchor_is_the_last_launch_of_each_step),
		cmocka_unit_test(test_an_anchor_at_the_begin_ends_the_step_before),
		cmocka_unit_test(test_a_single_launch_is_an_anchor),
		cmocka_unit_test(test_steps_are_counted_by_the_loop),
		cmocka_unit_test(test_a_step_without_its_anchor_ends_by_the_backup),
		cmocka_unit_test(test_an_anchor_far_from_the_end_says_so),
		cmocka_unit_test(test_few_steps_have_no_anchor),
		cmocka_unit_test(test_one_anchor_in_several_ends_a_step),
		cmocka_unit_test(test_rounds_that_differ_are_no_anchor),
		cmocka_unit_test(test_an_anchor_counts_the_loop_that_has_it_in_each_iteration),
		cmocka_unit_test(test_exchanges_count_a_loop),
		cmocka_unit_test(test_an_anchor_of_some_iterations_counts_no_loop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
