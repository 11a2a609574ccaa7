/*
 * The call during whose start CUPTI was switched on, which has no record of its own: which of the
 * unexplained work belongs to it, and which stays unpaired.
 */
#include "core/source/journal/pair_first.h"
#include "test/unit/pair_dict.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { HOOK_LAUNCH = 1, ON_TICKS = 900 };

static int set_up(void **state)
{
	(void)state;
	add_hook(HOOK_LAUNCH, CAT_LAUNCH);
	return 0;
}

static bool expects_work(const void *context, const struct rec_call *call)
{
	(void)context;
	return call->begin_ticks >= ON_TICKS;
}

static struct rec_gpu work(uint32_t correlation, uint64_t begin)
{
	return (struct rec_gpu){ .kind = REC_KERNEL,
				 .correlation = correlation,
				 .begin_ticks = begin,
				 .end_ticks = begin + 10 };
}

#define N(array) (sizeof(array) / sizeof(*(array)))

/*
 * Calls 0 (before CUPTI was on), 1 (as it was switched on) and 2. CUPTI has a record of call 2,
 * with number 52.
 */
static void check(const struct rec_gpu *works, const uint32_t *wanted, size_t n_works,
		  size_t n_apis)
{
	static const struct rec_call calls[] = {
		{ .hook = HOOK_LAUNCH, .begin_ticks = 500, .duration = 50, .seq = 1 },
		{ .hook = HOOK_LAUNCH, .begin_ticks = 100000, .duration = 50, .seq = 2 },
		{ .hook = HOOK_LAUNCH, .begin_ticks = 200000, .duration = 50, .seq = 3 },
	};
	static const struct rec_api apis[] = {
		{ .correlation = 52, .tid = 1, .begin_ticks = 200010, .end_ticks = 200020 }
	};
	const struct pair_thread thread = { .slot = 1, .tid = 1, .calls = calls, .n_calls = 3 };
	const struct pair_input in = { .dict = &dict,
				       .threads = &thread,
				       .n_threads = 1,
				       .apis = apis,
				       .n_apis = n_apis,
				       .works = works,
				       .n_works = n_works,
				       .begin_ticks = 400,
				       .end_ticks = 300000,
				       .expects_work = expects_work };
	uint32_t answer[8];
	pair_match(&in, answer);
	pair_first(&in, ON_TICKS, answer);
	for (size_t i = 0; i < n_works; i++)
		assert_int_equal(answer[i], wanted[i]);
}

/* Whenever it is run: behind the step's end, too. */
static void test_gets_the_work_before_the_first_record(void **state)
{
	(void)state;
	const struct rec_gpu works[] = { work(52, 200100), work(51, 100100) };
	const uint32_t wanted[] = { 2, 1 };
	check(works, wanted, N(works), 1);
	const struct rec_gpu late[] = { work(52, 400100), work(51, 400000) };
	check(late, wanted, N(late), 1);
}

static void test_work_that_is_not_its_own_stays_unknown(void **state)
{
	(void)state;
	struct rec_gpu works[] = { work(52, 200100), work(51, 100100), work(53, 200200) };
	const uint32_t of_none[] = { 2, PAIR_UNKNOWN, PAIR_UNKNOWN };
	works[1].kind = REC_MEMCPY;
	check(works, of_none, N(works), 1);
	works[1] = work(51, 50000); /* begun before the call */
	check(works, of_none, N(works), 1);
	/* two that might be */
	works[1] = work(51, 100100);
	works[2] = work(50, 100200);
	check(works, of_none, N(works), 1);
}

/* Then the work may be of a later call, whose record is still to come. */
static void test_no_record_no_answer(void **state)
{
	(void)state;
	const struct rec_gpu works[] = { work(51, 100100) };
	const uint32_t wanted[] = { PAIR_UNKNOWN };
	check(works, wanted, N(works), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gets_the_work_before_the_first_record),
		cmocka_unit_test(test_work_that_is_not_its_own_stays_unknown),
		cmocka_unit_test(test_no_record_no_answer),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
