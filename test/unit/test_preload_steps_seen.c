/*
 * Which launches are new to the process (preload/steps_seen.h): each of them twice, and not
 * forever.
 */
#include "preload/steps_seen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint64_t hash_of(uint64_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15ull | 1;
}

static void test_twice(void **state)
{
	(void)state;
	steps_seen_forget();
	for (uint64_t i = 0; i < 2000; i++) {
		assert_true(steps_seen_is_new(hash_of(i)));
		assert_true(steps_seen_is_new(hash_of(i)));
		assert_false(steps_seen_is_new(hash_of(i)));
	}
	for (uint64_t i = 0; i < 2000; i++)
		assert_false(steps_seen_is_new(hash_of(i)));
	steps_seen_forget();
	assert_true(steps_seen_is_new(hash_of(0)));
}

/* A program whose launches are always new takes a stack of the first ones only. */
static void test_it_fills(void **state)
{
	(void)state;
	uint32_t n_new = 0;
	steps_seen_forget();
	for (uint64_t i = 0; i < 1000000; i++)
		n_new += steps_seen_is_new(hash_of(i));
	assert_in_range(n_new, 8000, 16384);
	steps_seen_forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_it_fills),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
