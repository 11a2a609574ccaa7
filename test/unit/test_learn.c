/* What the library counted while its numbers were not known, as the collector finds it thread by thread. */
#include "core/learn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { GENERATION = 3 };

static void count(struct learn *l, uint64_t number, uint32_t generation)
{
	const struct rec_step step = { .event = STEP_COUNTED,
				       .generation = generation,
				       .number = number,
				       .ticks = number * 1000 };
	learn_count(l, NULL, &step);
}

/* The thread that counted the first step may be read behind the one that counted the second: numbers are known from the first one on. */
static void first_one_read_late(void **state)
{
	struct learn l = { .generation = GENERATION };
	(void)state;
	count(&l, 2, GENERATION);
	count(&l, 3, GENERATION);
	count(&l, 1, GENERATION - 1); /* of an anchor that was given up */
	assert_int_equal(l.counted.at[0].number, 2);
	count(&l, 1, GENERATION);
	count(&l, 4, GENERATION);
	assert_int_equal(l.counted.n, 4);
	assert_int_equal(l.counted.at[0].number, 1);
	unsigned seen = 0;
	for (size_t i = 0; i < l.counted.n; i++)
		seen |= 1u << l.counted.at[i].number;
	assert_int_equal(seen, 0x1e);
	vec_free(&l.counted);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(first_one_read_late) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
