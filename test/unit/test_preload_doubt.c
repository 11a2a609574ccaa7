/* When steps without an optimizer are looked at again. */
#include "preload/doubt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { USUAL_TICKS = 1000 };

/*
 * Adds `n` steps of that length. Returns the number of the first step after which there is a look
 * (0: none of them), and sets for how many.
 */
static uint64_t first_look(struct doubt *d, uint64_t n, uint64_t ticks, uint64_t *looks)
{
	for (uint64_t i = 1; i <= n; i++)
		if ((*looks = doubt_step(d, ticks, 1)))
			return i;
	return 0;
}

static void test_a_small_part_is_looked_at(void **state)
{
	(void)state;
	struct doubt d = { 0 };
	uint64_t n = 0, looked = 0, n_looks = 0;
	while (n < 1000000) {
		uint64_t looks, i = first_look(&d, 1000000, USUAL_TICKS, &looks);
		assert_int_not_equal(i, 0);
		n += i + looks;
		looked += looks;
		n_looks++;
		doubt_over(&d, looks);
		assert_true(n < 200 || looked * 16 <= n);
	}
	assert_in_range(n_looks, 6, 14);
	assert_true(looked * 30 < n);
}

/* What seems to end them may be an attack's step. */
static void test_what_is_likely_is_looked_at_soon(void **state)
{
	(void)state;
	struct doubt d = { .is_likely = true };
	uint64_t looks;
	assert_int_equal(first_look(&d, 100, USUAL_TICKS, &looks), 24);
	assert_int_equal(looks, 24);
	doubt_over(&d, looks);
	assert_in_range(first_look(&d, 10000, USUAL_TICKS, &looks), 1000, 2000);
}

static void test_steps_that_get_longer(void **state)
{
	(void)state;
	struct doubt d = { 0 };
	uint64_t looks;
	assert_int_equal(first_look(&d, 100, USUAL_TICKS, &looks), 0);
	for (int i = 0; i < 7; i++) /* some, now and then */
		assert_int_equal(doubt_step(&d, i % 2 ? 5 * USUAL_TICKS : USUAL_TICKS, 1), 0);
	assert_int_equal(first_look(&d, 20, 2 * USUAL_TICKS, &looks), 8);
	assert_int_equal(looks, 32);
	doubt_over(&d, looks);
	/* it was nothing: not again at once, though they stay so */
	uint64_t i = first_look(&d, 100000, 2 * USUAL_TICKS, &looks);
	assert_in_range(i, 16 * 32 - 200, 16 * 32);
}

static void test_a_little_longer_is_nothing(void **state)
{
	(void)state;
	struct doubt d = { 0 };
	uint64_t looks;
	assert_int_equal(first_look(&d, 40, USUAL_TICKS, &looks), 0);
	assert_int_equal(first_look(&d, 80, USUAL_TICKS * 14 / 10, &looks), 0);
	assert_int_equal(first_look(&d, 1000, USUAL_TICKS * 14 / 10, &looks), 512 - 120);
	assert_int_equal(looks, DOUBT_LEAST);
}

/* The backward pass's, as a rule: at once, however long the steps are. */
static void test_a_thread_that_comes(void **state)
{
	(void)state;
	struct doubt d = { 0 };
	for (int i = 0; i < 300; i++)
		assert_int_equal(doubt_step(&d, USUAL_TICKS, 3), 0);
	assert_int_equal(doubt_step(&d, USUAL_TICKS, 4), 301 / 8);
	doubt_over(&d, 301 / 8);
	/* it was nothing; a thread each step is looked at seldom */
	uint64_t n = 0, looks;
	for (uint32_t i = 5; i < 5000; i++)
		if ((looks = doubt_step(&d, USUAL_TICKS, i))) {
			doubt_over(&d, looks);
			n += looks;
		}
	assert_in_range(n, 1, 5000 / 5);
	for (int i = 0; i < 100; i++)
		assert_int_equal(doubt_step(&(struct doubt){ 0 }, USUAL_TICKS, 400), 0);
}

/*
 * A loader's thread came first, and the backward pass's before the next look for one was due: it
 * waits for that look.
 */
static void test_a_thread_that_comes_soon_after_another(void **state)
{
	(void)state;
	struct doubt d = { 0 };
	uint64_t looks, n = 0;
	for (int i = 0; i < 300; i++)
		assert_int_equal(doubt_step(&d, USUAL_TICKS, 3), 0);
	assert_int_equal(doubt_step(&d, USUAL_TICKS, 4), 301 / 8);
	doubt_over(&d, 301 / 8);
	while (!(looks = doubt_step(&d, USUAL_TICKS, 5)) && n < 1000)
		n++;
	assert_in_range(n, 200, 16 * (301 / 8) - 301);
	doubt_over(&d, looks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_small_part_is_looked_at),
		cmocka_unit_test(test_what_is_likely_is_looked_at_soon),
		cmocka_unit_test(test_steps_that_get_longer),
		cmocka_unit_test(test_a_little_longer_is_nothing),
		cmocka_unit_test(test_a_thread_that_comes),
		cmocka_unit_test(test_a_thread_that_comes_soon_after_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
