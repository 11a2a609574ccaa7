/*
 * Which call caused which GPU work: by pushed ids, by intervals, out of order, with records missing
 * on either side.
 */
#include "core/source/journal/pair.h"
#include "test/unit/pair_dict.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { HOOK_LAUNCH = 1, HOOK_SYNC = 2 };

static int set_up(void **state)
{
	(void)state;
	add_hook(HOOK_LAUNCH, CAT_LAUNCH);
	add_hook(HOOK_SYNC, CAT_SYNC);
	return 0;
}

static struct rec_call call(uint16_t hook, uint64_t begin, uint32_t seq)
{
	return (struct rec_call){ .hook = hook, .begin_ticks = begin, .duration = 50, .seq = seq };
}

static struct rec_external external(uint32_t correlation, uint32_t thread, uint32_t seq)
{
	return (struct rec_external){ .correlation = correlation, .thread = thread, .seq = seq };
}

static struct rec_api api(uint32_t correlation, uint32_t tid, uint64_t begin)
{
	return (struct rec_api){ .correlation = correlation,
				 .tid = tid,
				 .begin_ticks = begin,
				 .end_ticks = begin + 20 };
}

static struct rec_gpu work(uint32_t correlation, uint64_t begin)
{
	return (struct rec_gpu){ .kind = REC_KERNEL,
				 .correlation = correlation,
				 .begin_ticks = begin };
}

#define N(array) (sizeof(array) / sizeof(*(array)))

/*
 * Thread 1 made seqs 11..13 in the step (12 with a sync before it), thread 2 made 5 and 7: the
 * record of 6 was lost.
 */
static const struct pair_input *example(void)
{
	static struct rec_call one[4], two[2];
	static struct pair_thread threads[2];
	static struct pair_input in;
	one[0] = call(HOOK_LAUNCH, 1000, 11);
	one[1] = call(HOOK_SYNC, 1100, 0);
	one[2] = call(HOOK_LAUNCH, 1200, 12);
	one[3] = call(HOOK_LAUNCH, 1300, 13);
	two[0] = call(HOOK_LAUNCH, 1000, 5);
	two[1] = call(HOOK_LAUNCH, 1250, 7);
	threads[0] = (struct pair_thread){
		.slot = 1, .tid = 100, .handle = 900, .calls = one, .n_calls = 4, .closed_seq = 10
	};
	threads[1] = (struct pair_thread){
		.slot = 2, .tid = 200, .calls = two, .n_calls = 2, .first = 4, .closed_seq = 4
	};
	in = (struct pair_input){ .dict = &dict,
				  .threads = threads,
				  .n_threads = 2,
				  .begin_ticks = 1000,
				  .end_ticks = 1400 };
	return &in;
}

static void match(const struct rec_external *externals, size_t n_externals,
		  const struct rec_gpu *works, size_t n_works, uint32_t *answer)
{
	struct pair_input in = *example();
	in.externals = externals;
	in.n_externals = n_externals;
	in.works = works;
	in.n_works = n_works;
	pair_match(&in, answer);
}

static void test_by_pushed_ids_in_any_order(void **state)
{
	(void)state;
	const struct rec_external externals[] = { external(73, 1, 13), external(71, 1, 11),
						  external(72, 1, 12), external(80, 2, 5),
						  external(90, 2, 7) };
	/* a graph's launch owns three pieces of work, and they come before and after others */
	const struct rec_gpu works[] = { work(90, 1500), work(72, 1210), work(71, 1010),
					 work(80, 9000), work(73, 1310), work(72, 1220),
					 work(72, 1215) };
	uint32_t answer[N(works)];
	match(externals, N(externals), works, N(works), answer);
	const uint32_t wanted[] = { 5, 2, 0, 4, 3, 2, 2 };
	for (size_t i = 0; i < N(works); i++)
		assert_int_equal(answer[i], wanted[i]);
}

static void test_distinguishes_earlier_later_lost_and_unknown(void **state)
{
	(void)state;
	const struct rec_external externals[] = { external(1, 1, 10), external(2, 1, 14),
						  external(3, 2, 6), external(4, 9, 1) };
	const struct rec_gpu works[] = { work(1, 1000), work(2, 1500), work(3, 1100),
					 work(4, 1100), work(5, 1100), work(6, 1400) };
	uint32_t answer[N(works)];
	match(externals, N(externals), works, N(works), answer);
	assert_int_equal(answer[0], PAIR_EARLIER);
	assert_int_equal(answer[1], PAIR_LATER);
	assert_int_equal(answer[2], PAIR_LOST);
	assert_int_equal(answer[3], PAIR_LATER); /* a thread not seen yet */
	assert_int_equal(answer[4], PAIR_UNKNOWN);
	assert_int_equal(answer[5],
			 PAIR_LATER); /* begins behind the step: may be explained later */
}

static void check_intervals(const struct rec_api *apis, size_t n_apis, const struct rec_gpu *works,
			    const uint32_t *wanted, size_t n_works)
{
	struct pair_input in = *example();
	uint32_t answer[8];
	in.apis = apis;
	in.n_apis = n_apis;
	in.works = works;
	in.n_works = n_works;
	pair_match(&in, answer);
	for (size_t i = 0; i < n_works; i++)
		assert_int_equal(answer[i], wanted[i]);
}

static void test_by_intervals(void **state)
{
	(void)state;
	const struct rec_api apis[] = {
		api(31, 900, 1210), api(30, 100, 1005), api(32, 200, 1260),
		api(33, 100, 1160), api(34, 100, 1500), api(35, 555, 1210)
	};
	const struct rec_gpu works[] = { work(30, 1100), work(31, 1300), work(32, 1300),
					 work(33, 1300), work(34, 1600), work(35, 1300) };
	const uint32_t wanted[] = { 0, 2, 5, PAIR_UNKNOWN, PAIR_LATER, PAIR_UNKNOWN };
	check_intervals(apis, N(apis), works, wanted, N(works));
}

/*
 * A statically linked runtime is seen where it calls the driver, inside CUPTI's record of the
 * runtime's own call.
 */
static void test_a_record_that_holds_the_call(void **state)
{
	(void)state;
	const struct rec_api apis[] = {
		{ .correlation = 50, .tid = 100, .begin_ticks = 1180, .end_ticks = 1280 },
		/* its middle lies behind the call; and the wait before it has no work */
		{ .correlation = 51, .tid = 100, .begin_ticks = 1060, .end_ticks = 1255 },
		{ .correlation = 52, .tid = 200, .begin_ticks = 900, .end_ticks = 1120 },
		/* in none, and around none */
		{ .correlation = 53, .tid = 200, .begin_ticks = 1060, .end_ticks = 1240 },
		/* the next step may begin with a call within it */
		{ .correlation = 54, .tid = 200, .begin_ticks = 1380, .end_ticks = 1500 },
	};
	const struct rec_gpu works[] = { work(50, 1300), work(51, 1300), work(52, 1300),
					 work(53, 1300), work(54, 1600) };
	const uint32_t wanted[] = { 2, 2, 4, PAIR_UNKNOWN, PAIR_LATER };
	check_intervals(apis, N(apis), works, wanted, N(works));
}

/*
 * Clocks that differ by a little less than half a call still agree; the pushed id takes precedence
 * over the interval.
 */
static void test_skewed_clocks_and_both_kinds(void **state)
{
	(void)state;
	struct pair_input in = *example();
	const struct rec_api apis[] = { api(40, 100, 991), api(41, 100, 1205) };
	const struct rec_external externals[] = { external(41, 1, 13) };
	const struct rec_gpu works[] = { work(40, 1100), work(41, 1100) };
	uint32_t answer[2];
	in.apis = apis;
	in.n_apis = N(apis);
	in.externals = externals;
	in.n_externals = 1;
	in.works = works;
	in.n_works = 2;
	pair_match(&in, answer);
	assert_int_equal(answer[0], 0);
	assert_int_equal(answer[1], 3);
}

/* Numbers that wrap around at 2^32, and correlation ids far apart (no dense table). */
static void test_wrapped_seq_and_sparse_ids(void **state)
{
	(void)state;
	static struct rec_call calls[4];
	for (uint32_t i = 0; i < 4; i++)
		calls[i] = call(HOOK_LAUNCH, 1000 + i * 100, 0xfffffffeu + i);
	const struct pair_thread thread = {
		.slot = 1, .calls = calls, .n_calls = 4, .closed_seq = 0xfffffffd
	};
	const struct rec_external externals[] = { external(5, 1, 0xfffffffe),
						  external(0x7fffffff, 1, 0),
						  external(0xfffffff0, 1, 1) };
	const struct rec_gpu works[] = { work(0xfffffff0, 1100), work(5, 1100),
					 work(0x7fffffff, 1100), work(6, 1100) };
	uint32_t answer[4];
	const struct pair_input in = { .dict = &dict,
				       .threads = &thread,
				       .n_threads = 1,
				       .externals = externals,
				       .n_externals = 3,
				       .works = works,
				       .n_works = 4,
				       .end_ticks = 2000 };
	pair_match(&in, answer);
	assert_int_equal(answer[0], 3);
	assert_int_equal(answer[1], 0);
	assert_int_equal(answer[2], 2);
	assert_int_equal(answer[3], PAIR_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_pushed_ids_in_any_order),
		cmocka_unit_test(test_distinguishes_earlier_later_lost_and_unknown),
		cmocka_unit_test(test_by_intervals),
		cmocka_unit_test(test_a_record_that_holds_the_call),
		cmocka_unit_test(test_skewed_clocks_and_both_kinds),
		cmocka_unit_test(test_wrapped_seq_and_sparse_ids),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
