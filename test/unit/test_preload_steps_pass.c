/*
 * Launches that counting skips (preload/steps.h): what is kept of them makes the same window as
 * looking at each of them would, wherever the next look comes. Those that complete the anchor or
 * its backup are never skipped.
 */
#include "preload/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct hook_passed launch(uint32_t i)
{
	return (struct hook_passed){ 0x1000 + 16 * (uint64_t)(i % 7),
				     { 1 + i % 5, 2, 1 },
				     { 32, 1 + i % 3, 1 } };
}

static uint64_t token_of_launch(uint32_t i)
{
	struct hook_passed p = launch(i);
	return token_launch(p.function, p.grid, p.block);
}

/* `n` launches are let by after `looked_at` others. */
static void check_settled(uint32_t looked_at, uint32_t n)
{
	enum { EARLIER = 2 };
	struct token_window whole = { 0 };
	uint32_t unused;
	/* not the thread's first launch, which looks whether steps still end */
	hook_thread =
		(struct hook_thread){ .has_end = true, .tokens = EARLIER, .settled = EARLIER };
	for (uint32_t i = 0; i < looked_at; i++) {
		steps_token(token_of_launch(i), false, launch(i).function);
		token_window_push(&whole, token_of_launch(i));
	}
	for (uint32_t i = looked_at; i < looked_at + n; i++) {
		*steps_passed(&unused) = launch(i);
		token_window_push(&whole, token_of_launch(i));
	}
	assert_int_equal(hook_thread.tokens, EARLIER + looked_at + n);
	uint64_t next = token_of_launch(looked_at + n);
	steps_token(next, false, launch(looked_at + n).function);
	token_window_push(&whole, next);
	assert_int_equal(hook_thread.window.before_last, whole.before_last);
	assert_int_equal(hook_thread.window.last, whole.last);
	assert_int_equal(hook_thread.tokens, EARLIER + looked_at + n + 1);
}

static void test_window_is_as_if_all_were_examined(void **state)
{
	(void)state;
	for (uint32_t looked_at = 0; looked_at < 6; looked_at++)
		for (uint32_t n = 0; n < 8; n++)
			check_settled(looked_at, n);
}

static void test_anchors_are_examined(void **state)
{
	(void)state;
	hook_thread = (struct hook_thread){ .has_end = true };
	hook_switch.steps =
		(struct steps_hot){ .anchor_function = 0x1000, .backup_function = 0x1010 };
	assert_false(steps_passes(0x1020)); /* a thread's first launch */
	hook_thread.tokens = 1;
	assert_false(steps_passes(0x1000));
	assert_false(steps_passes(0x1010));
	assert_true(steps_passes(0x1020));
	hook_switch.steps = (struct steps_hot){ 0 };
}

/* A single token is an anchor, whatever was launched before; other launches are none. */
static void test_single_tokens_are_anchors(void **state)
{
	(void)state;
	uint64_t token = token_of_launch(3), anchor = token_single(token);
	struct token_window w = { 0 };
	assert_int_equal(token_window_push_for(&w, token, anchor), anchor);
	assert_int_not_equal(token_window_push_for(&w, token_of_launch(4), anchor), anchor);
	assert_int_equal(token_window_push_for(&w, token, anchor), anchor);
	assert_int_not_equal(token_window_push_for(&w, token, 0), anchor);
	assert_int_equal(anchor % 2, 0);
	assert_int_not_equal(token_single(0), 0);
	assert_int_not_equal(token_single(1), 0);
}

/* Whether steps continue is checked once per N launches, skipped or not. */
static void test_some_are_still_examined(void **state)
{
	(void)state;
	uint32_t n_passed = 0, unused;
	hook_thread = (struct hook_thread){ 0 };
	hook_switch.steps =
		(struct steps_hot){ .anchor_function = 1, .backup_function = 1, .passes = true };
	for (uint32_t i = 0; i < 10 * STEPS_LOOK_EVERY; i++) {
		struct hook_passed p = launch(i);
		bool passes = steps_passes(p.function);
		n_passed += passes;
		if (passes)
			*steps_passed(&unused) = p;
		else
			hook_thread.settled = ++hook_thread.tokens;
	}
	assert_int_equal(n_passed, 10 * STEPS_LOOK_EVERY - 10);
	hook_switch.steps = (struct steps_hot){ 0 };
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window_is_as_if_all_were_examined),
		cmocka_unit_test(test_anchors_are_examined),
		cmocka_unit_test(test_single_tokens_are_anchors),
		cmocka_unit_test(test_some_are_still_examined),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
