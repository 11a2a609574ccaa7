/* Where the first whole step begins, when steps are looked for in the middle of one. */
#include "core/steps/learn_midstep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAIN, BACKWARD, ANCHOR = 77 };

static bool hold(struct learn_midstep *a, uint32_t slot, uint64_t ns, uint32_t hints, uint64_t hash)
{
	return learn_midstep_hold(
		a, &(struct learn_held){ .slot = slot,
					 .hash = hash,
					 .event = { .begin_ns = ns, .hints = hints } });
}

/*
 * Launches of a forward pass, the rest of an optimizer's, and the next step's first ones; the other
 * thread was read before.
 */
static void after_the_first_phase(void **state)
{
	struct learn_midstep a = { 0 };
	(void)state;
	learn_midstep_begin(&a);
	for (uint64_t ns = 0; ns < 400; ns += 10)
		assert_false(hold(&a, BACKWARD, ns, 0, 1000 + ns));
	for (uint64_t ns = 0; ns < 100; ns += 10)
		assert_false(hold(&a, MAIN, ns, LEVEL_NAMED, 2000 + ns));
	for (uint64_t ns = 100; ns < 200; ns += 10) /* each third launch has another name */
		assert_false(hold(&a, MAIN, ns, ns % 30 ? LEVEL_OPTIMIZER : 0, 3000 + ns));
	assert_false(hold(&a, MAIN, 200, LEVEL_OPTIMIZER, ANCHOR));
	for (uint64_t ns = 210; ns < 280; ns += 10)
		assert_false(hold(&a, MAIN, ns, 0, ns));
	assert_true(hold(&a, MAIN, 280, 0, ANCHOR));
	assert_false(a.is_on);
	assert_int_equal(a.from_ns, 210);
	assert_int_equal(a.held.n, 40 + 10 + 10 + 1 + 8);
	assert_int_equal(learn_midstep_count(&a, ANCHOR), 1);
	learn_midstep_end(&a);
}

/* An evaluation, however long it is. */
static void room_is_bounded(void **state)
{
	struct learn_midstep a = { 0 };
	(void)state;
	learn_midstep_begin(&a);
	for (uint64_t ns = 0; ns < 1000000; ns++)
		assert_false(hold(&a, MAIN, ns, LEVEL_NAMED, ns));
	assert_true(a.is_on);
	assert_in_range(a.held.room * sizeof(*a.held.at), 1, 16 << 20);
	learn_midstep_end(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_the_first_phase),
		cmocka_unit_test(room_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
