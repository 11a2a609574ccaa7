/* export/ranks_meet.h: where ranks that are asked at once can begin together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "export/ranks_meet.h"

#include <cmocka.h>

#define MEET(...)                                             \
	ranks_meet((const struct rank_look[]){ __VA_ARGS__ }, \
		   sizeof((const struct rank_look[]){ __VA_ARGS__ }) / sizeof(struct rank_look))

static void ahead_of_the_foremost(void **state)
{
	(void)state;
	assert_int_equal(MEET({ true, true, 100, 130 }, { true, true, 90, 122 }), 130 + 32 + 2);
	/* steps of seconds: none ended meanwhile */
	assert_int_equal(MEET({ true, true, 7, 7 }, { true, true, 6, 6 }), 9);
}

static void alone_or_far_apart(void **state)
{
	(void)state;
	assert_int_equal(ranks_meet(NULL, 0), 0);
	assert_int_equal(MEET({ true, true, 100, 130 }, { true, false, 90, 122 }), 0);
	assert_int_equal(MEET({ true, true, 100, 101 }, { true, true, 60, 61 }), 104);
	assert_int_equal(MEET({ true, true, 100, 101 }, { true, true, 59, 60 }), 0);
}

/*
 * Its number gives no pace: a third rank whose steps were found only now, or one whose numbers went
 * back.
 */
static void a_jump_gives_no_pace(void **state)
{
	(void)state;
	assert_int_equal(MEET({ true, true, 5000, 5010 }, { true, true, 5000, 5008 },
			      { false, true, 0, 5005 }),
			 5022);
	assert_int_equal(MEET({ true, true, 5000, 5010 }, { true, true, 5020, 5008 }), 5022);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ahead_of_the_foremost),
		cmocka_unit_test(alone_or_far_apart),
		cmocka_unit_test(a_jump_gives_no_pace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
