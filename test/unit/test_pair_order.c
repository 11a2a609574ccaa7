/* Which call caused which GPU work where nothing but the order of both says so. */
#include "test/unit/made_order.h"

/*
 * Launches of kernels [first, first + n), each with its kernel except `but`. Correlations are 10 *
 * kernel.
 */
static void launch_row(uint32_t first, uint32_t n, uint32_t but)
{
	for (uint32_t k = first; k < first + n; k++) {
		call(HOOK_LAUNCH, k * 100, k);
		if (k != but)
			work(REC_KERNEL, k * 10, k * 100 + LATENCY, k);
	}
}

static void test_in_order(void **state)
{
	(void)state;
	launch_row(1, 20, 0);
	/* records come in any order */
	for (size_t i = 0; i < m.works.n / 2; i += 3) {
		struct rec_gpu swap = m.works.at[i];
		m.works.at[i] = m.works.at[m.works.n - 1 - i];
		m.works.at[m.works.n - 1 - i] = swap;
	}
	pair_all();
	for (uint32_t k = 1; k <= 20; k++)
		assert_int_equal(found(k * 10), k);
}

static void test_nothing_at_all(void **state)
{
	(void)state;
	pair_all();
	assert_int_equal(m.n_answers, 0);
	call(HOOK_LAUNCH, 100, 1);
	pair_all();
	assert_int_equal(m.n_answers, 0);
	work(REC_GPU_SYNC, 5, 200, 0);
	pair_all();
	assert_int_equal(m.n_answers, 0);
}

static void test_a_call_without_work(void **state)
{
	(void)state;
	launch_row(1, 9, 4);
	pair_all();
	for (uint32_t k = 1; k <= 9; k++)
		assert_int_equal(found(k * 10), k == 4 ? 0 : k);
}

/* A failed call has none, nor one that was made while CUPTI was off, nor a wait. */
static void test_calls_that_have_none(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= 9; k++) {
		call(k == 5 ? HOOK_SYNC : HOOK_LAUNCH, k * 100, 3);
		m.threads[0].calls.at[k - 1].status = k == 2;
	}
	m.off_begin = 600, m.off_end = 800;
	const uint32_t with_work[] = { 1, 3, 4, 8, 9 }, seq[] = { 1, 3, 4, 7, 8 };
	for (uint32_t i = 0; i < 5; i++)
		work(REC_KERNEL, with_work[i], with_work[i] * 100 + LATENCY, 3);
	pair_all();
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(found(with_work[i]), seq[i]);
}

static void test_work_without_a_call(void **state)
{
	(void)state;
	launch_row(1, 6, 0);
	work(REC_KERNEL, 35, 345, 30); /* as a library launches that no hook sees */
	work(REC_MEMSET, 36, 346, 64);
	pair_all();
	for (uint32_t k = 1; k <= 6; k++)
		assert_int_equal(found(k * 10), k);
	assert_int_equal(found(35), 0);
	assert_int_equal(found(36), 0);
}

/*
 * Work that began before the first call belongs to earlier calls, work after the last call to calls
 * that are not read.
 */
static void test_leftovers_before_and_after(void **state)
{
	(void)state;
	uint64_t later = 1000000;
	for (uint32_t k = 1; k <= 5; k++)
		call(HOOK_LAUNCH, later + k * 100, 1);
	for (uint32_t k = 1; k <= 3; k++)
		work(REC_KERNEL, k, k * 100, 1);
	for (uint32_t k = 1; k <= 5; k++)
		work(REC_KERNEL, 10 + k, later + k * 100 + LATENCY, 1);
	for (uint32_t k = 1; k <= 4; k++)
		work(REC_KERNEL, 20 + k, later + 600 + k * 100, 1);
	pair_all();
	assert_int_equal(m.n_answers, 5);
	for (uint32_t k = 1; k <= 5; k++)
		assert_int_equal(found(10 + k), k);
}

/*
 * ---- Windows close to each other: CUPTI is on throughout, and calls are recorded in one step of a
 * few ----
 */

enum { STEP_TICKS = 4000000, STEP_CALLS = 8, CALL_TICKS = 100000 };

static uint32_t number_of(uint32_t n, uint32_t k)
{
	return n * 100 + k;
}

/* Step n of a loop. Where the GPU lags by that much, a recorded step waits for it. */
static void loop_step(uint32_t n, bool is_recorded, uint32_t lag)
{
	uint64_t begin = (uint64_t)n * STEP_TICKS;
	if (is_recorded)
		vec_push(&m.opened, ((struct pair_opening){ begin, false }));
	for (uint32_t k = 1; k <= STEP_CALLS; k++) {
		uint64_t at = begin + k * CALL_TICKS;
		if (is_recorded)
			call(HOOK_LAUNCH, at, k);
		work(REC_KERNEL, number_of(n, k), at + lag, k)->end_ticks = at + lag + CALL_TICKS;
	}
	if (is_recorded && lag)
		call(HOOK_SYNC, begin + (STEP_CALLS + 1) * CALL_TICKS + lag, 0);
}

static void each_has_its_own(const uint32_t *steps, uint32_t n_steps)
{
	m.is_closed = true;
	pair_all();
	assert_int_equal(m.n_answers, n_steps * STEP_CALLS);
	for (uint32_t i = 0; i < n_steps; i++)
		for (uint32_t k = 1; k <= STEP_CALLS; k++)
			assert_int_equal(found(number_of(steps[i], k)), i * STEP_CALLS + k);
}

/* None, one, and more than the search for agreement looks through. */
static void test_steps_between_are_not_recorded(void **state)
{
	static const uint32_t steps[] = { 1, 3, 4, 30 };
	uint32_t next = 0;
	(void)state;
	for (uint32_t n = 1; n < 40; n++) {
		bool is_recorded = next < 4 && steps[next] == n;
		next += is_recorded;
		loop_step(n, is_recorded, 0);
	}
	each_has_its_own(steps, 4);
}

/*
 * The window before has been passed on by then, and work of the steps between is still under way
 * when this one begins.
 */
static void test_unrecorded_work_comes_first(void **state)
{
	static const uint32_t step = 6;
	(void)state;
	for (uint32_t n = 1; n < 12; n++)
		loop_step(n, n == step, 3 * CALL_TICKS);
	for (uint32_t k = 1; k <= 16; k++)
		work(REC_KERNEL, number_of(step, 0) - 20 + k,
		     step * STEP_TICKS + CALL_TICKS + k * 1000, KERNELS - 1);
	each_has_its_own(&step, 1);
}

/*
 * Nothing waits, and the GPU is two steps late. Work of the steps between fits as well, except for
 * their number of calls.
 */
static void loop_runs_ahead(uint32_t from, uint32_t first, uint32_t second)
{
	for (uint32_t n = 1; n < second + 6; n++) {
		bool is_recorded = n == first || n == second;
		if (!is_recorded || n < from)
			m.threads[0].seq += STEP_CALLS;
		if (n < from)
			continue;
		uint64_t begin = (uint64_t)n * STEP_TICKS;
		if (is_recorded)
			vec_push(&m.opened, ((struct pair_opening){ begin, true }));
		for (uint32_t k = 1; k <= STEP_CALLS; k++) {
			uint64_t done = begin + 2 * STEP_TICKS + k * STEP_TICKS / STEP_CALLS;
			if (is_recorded)
				call(HOOK_LAUNCH, begin + k * CALL_TICKS, k);
			work(REC_KERNEL, number_of(n, k), done, k)->end_ticks =
				done + STEP_TICKS / STEP_CALLS;
		}
	}
	m.is_closed = true;
}

static void test_as_many_calls_are_between(void **state)
{
	(void)state;
	loop_runs_ahead(5, 5, 9);
	vec_shift(&m.opened, 1); /* CUPTI came on with the first */
	pair_all();
	assert_int_equal(m.n_answers, 2 * STEP_CALLS);
	for (uint32_t k = 1; k <= STEP_CALLS; k++) {
		assert_int_equal(found(number_of(5, k)), 4 * STEP_CALLS + k);
		assert_int_equal(found(number_of(9, k)), 8 * STEP_CALLS + k);
	}
}

/* The first window was handed on, and two of the three steps between. */
static void test_some_of_what_is_between_is_gone(void **state)
{
	(void)state;
	loop_runs_ahead(8, 5, 9);
	m.closed_seq = 5 * STEP_CALLS;
	m.gone_id = number_of(5, STEP_CALLS);
	m.n_gone = 2 * STEP_CALLS;
	for (uint32_t k = 1; k <= 5;
	     k++) /* of the steps before it: still here, since they end late */
		work(REC_KERNEL, number_of(4, k), 9 * STEP_TICKS + k, k);
	pair_all();
	assert_int_equal(m.n_answers, STEP_CALLS);
	for (uint32_t k = 1; k <= STEP_CALLS; k++)
		assert_int_equal(found(number_of(9, k)), 8 * STEP_CALLS + k);
}

/*
 * Work of a call that was not recorded is left over, because the GPU was late when its step was
 * passed on. The first call is not paired with it, though the same kernel comes first in each step
 * and later calls fit all ids then.
 */
static void test_work_left_over_before_the_first_call(void **state)
{
	enum { CLOSED = 10, READ = 20, STEPS = 50, LATE = 15, N = 4 };
	(void)state;
	m.closed_seq = CLOSED * N;
	m.threads[0].seq = CLOSED * N;
	m.gone_id = CLOSED * N;
	work(REC_KERNEL, CLOSED * N - N + 1, (CLOSED + LATE) * STEP_TICKS, 1);
	for (uint32_t n = CLOSED; n < STEPS; n++) {
		for (uint32_t k = 1; k <= N; k++) {
			uint64_t done = (uint64_t)(n + LATE) * STEP_TICKS + k * STEP_TICKS / N;
			call(HOOK_LAUNCH, (uint64_t)n * STEP_TICKS + k * CALL_TICKS, k);
			if (n < READ)
				work(REC_KERNEL, n * N + k, done, k)->end_ticks =
					done + STEP_TICKS / N;
		}
	}
	pair_all();
	assert_int_equal(m.n_answers, (READ - CLOSED) * N);
	for (uint32_t id = CLOSED * N + 1; id <= READ * N; id++)
		assert_int_equal(found(id), id);
}

/*
 * A step's last calls are paired with the help of what follows: the third's work is lost, and the
 * next iteration's is not taken for it.
 */
static void test_what_follows_counts(void **state)
{
	(void)state;
	for (uint32_t iteration = 0; iteration < 3; iteration++)
		for (uint32_t k = 1; k <= 3; k++) {
			uint64_t at = iteration * 1000 + k * 100;
			call(HOOK_LAUNCH, at, k);
			if (iteration || k < 3)
				work(REC_KERNEL, iteration * 3 + k, at + LATENCY, k);
		}
	pair_all();
	for (uint32_t n = 1; n <= 9; n++)
		assert_int_equal(found(n), n == 3 ? 0 : n);
}

/* A journal that has no room drops a thousand calls in a row; their work comes all the same. */
static void test_lost_calls(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= 1200; k++) {
		if (k < 100 || k >= 1100)
			call(HOOK_LAUNCH, 1000 + k, k % 3);
		else
			m.threads[0].seq++;
		work(REC_KERNEL, k, 3000 + k, k % 3); /* the GPU lags far */
	}
	for (size_t i = 0; i < m.threads[0].calls.n; i++)
		m.threads[0].calls.at[i].duration = 1;
	pair_all();
	for (uint32_t k = 1; k <= 1200; k++)
		assert_int_equal(found(k), k < 100 || k >= 1100 ? k : 0);
}

/* So does CUPTI with a buffer's records. */
static void test_lost_work(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= 1200; k++) {
		call(HOOK_LAUNCH, k * 100, k % 7);
		if (k < 100 || k >= 1100)
			work(REC_KERNEL, k, 200000 + k, k % 7);
	}
	pair_all();
	uint32_t right = 0;
	for (uint32_t k = 1; k <= 1200; k++)
		right += found(k) == k;
	/* where the pattern repeats, the hole may lie a little earlier, never what follows it */
	assert_true(right >= 99);
	for (uint32_t k = 1; k < 100; k++)
		assert_int_equal(found(k), k);
}

static void lose_the_first(uint64_t delay, uint32_t n_calls)
{
	for (uint32_t k = 1; k <= n_calls; k++) {
		call(HOOK_LAUNCH, k * 100, k % 4);
		if (k > 1 && k <= 200)
			work(REC_KERNEL, k, k * 100 + delay, k % 4);
	}
	pair_all();
	for (uint32_t k = 1; k <= 200; k++)
		assert_int_equal(found(k), k > 1 ? k : 0);
}

/*
 * The first work is lost, and that of the last calls has not been read yet. The path that leaves
 * out a whole iteration ends at a later call, and is not better for that.
 */
static void test_first_work_is_lost_and_more_is_to_come(void **state)
{
	(void)state;
	lose_the_first(10000, 400);
}

/* A path that has used all work is not given up for one that has work left. */
static void test_first_work_is_lost_and_much_more_is_to_come(void **state)
{
	(void)state;
	lose_the_first(10000, 20000);
}

/* On a shared GPU all work begins late. Then it is no reason to leave out a call. */
static void test_all_work_begins_late(void **state)
{
	(void)state;
	lose_the_first(200000, 400);
}

/*
 * A journal that is full for long drops calls and work. The work is that of earlier calls, because
 * the GPU lags and CUPTI delivers late. The numbers alone show what is missing.
 */
static void test_lost_calls_and_work(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= 12000; k++) {
		if (k < 1000 || k >= 11000)
			call(HOOK_LAUNCH, 1000 + k, k % 3);
		else
			m.threads[0].seq++;
		if (k < 600 || k >= 10800)
			work(REC_KERNEL, k, 30000 + k, k % 3);
	}
	for (size_t i = 0; i < m.threads[0].calls.n; i++)
		m.threads[0].calls.at[i].duration = 1;
	pair_all();
	for (size_t i = 0; i < m.works.n; i++) {
		uint32_t k = m.works.at[i].correlation;
		assert_int_equal(found(k), k < 1000 || k >= 11000 ? k : 0);
	}
}

/* Every `period`th pair of numbers was given out in the other order. */
static void check_swapped(uint32_t n, uint32_t period)
{
	for (uint32_t k = 1; k <= n; k++) {
		assert_int_equal(found(k * 2 + (k % period == 0)), k);
		assert_int_equal(found(k * 2 + (k % period != 0)), 1000000 + k);
	}
}

/* Two threads at the same moment: numbers may be given out in the other order. */
static void test_two_threads_race(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= 20; k++) {
		call_on(0, HOOK_LAUNCH, k * 1000, 1, 0);
		call_on(1, HOOK_LAUNCH, k * 1000 + 10, 2, 0);
		work(REC_KERNEL, k * 2 + (k % 3 == 0), k * 1000 + 100, 1);
		work(REC_KERNEL, k * 2 + (k % 3 != 0), k * 1000 + 110, 2);
	}
	pair_all();
	check_swapped(20, 3);
}

/* The same kernel, too: then the streams tell, which are known by what most have. */
static void test_streams_distinguish_racing_twins(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= 40; k++) {
		bool swapped = k % 15 == 0;
		call_on(0, HOOK_LAUNCH, k * 1000, 1, 0xa0);
		call_on(1, HOOK_LAUNCH, k * 1000 + 10, 1, 0xb0);
		work(REC_KERNEL, k * 2 + swapped, k * 1000 + 100, 1)->stream = 13;
		work(REC_KERNEL, k * 2 + !swapped, k * 1000 + 110, 1)->stream = 14;
	}
	pair_all();
	check_swapped(40, 15);
}

/* No stream is learned where a handle stands for several: the default stream of each thread. */
static void test_a_handle_of_several_streams(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= 20; k++) {
		call_on(k % 2, HOOK_LAUNCH, k * 1000, 1, 2);
		work(REC_KERNEL, k, k * 1000 + LATENCY, 1)->stream = 20 + k % 2;
	}
	pair_all();
	for (uint32_t k = 1; k <= 20; k++)
		assert_int_equal(found(k), k % 2 * 1000000 + (k + 1) / 2);
}

/* What one thread's work was not seen of blocks no other's, though they never stop overlapping. */
static void test_strays_while_threads_race(void **state)
{
	(void)state;
	uint32_t correlation = 1, of[2][200];
	for (uint32_t k = 0; k < 200; k++) {
		uint64_t at = 1000 + k * 40; /* 50 long each */
		of[k % 2][k / 2] = correlation;
		call_on(k % 2, HOOK_LAUNCH, at, k % 2 ? 2 : k % 5 + 3, 0xa0 + k % 2);
		work(REC_KERNEL, correlation++, 100000 + k, k % 2 ? 2 : k % 5 + 3)->stream = k % 2;
		if (k % 4 == 0)
			work(REC_KERNEL, correlation++, 100000 + k, 30)->stream = 9;
	}
	pair_all();
	assert_int_equal(m.n_answers, 200);
	for (uint32_t k = 0; k < 200; k++)
		assert_int_equal(found(of[k % 2][k / 2]), k % 2 * 1000000 + k / 2 + 1);
}

static void test_a_graph_is_one_call(void **state)
{
	(void)state;
	uint32_t correlation = 1;
	for (uint32_t k = 1; k <= 3; k++) {
		call(HOOK_LAUNCH, k * 1000, 1);
		work(REC_KERNEL, correlation++, k * 1000 + LATENCY, 1);
		call(HOOK_GRAPH, k * 1000 + 200, 0x1234);
		for (uint32_t node = 0; node < 5; node++) {
			struct rec_gpu *g = work(node == 2 ? REC_MEMSET : REC_KERNEL, correlation,
						 k * 1000 + 300 + node, node);
			g->graph = 4;
			g->stream = 30 + node;
		}
		correlation++;
	}
	pair_all();
	assert_int_equal(m.n_answers, 6);
	for (uint32_t n = 1; n <= 6; n++)
		assert_int_equal(found(n), n);
}

static void test_copies_by_their_bytes(void **state)
{
	(void)state;
	const uint64_t bytes[] = { 64, 1 << 20, 0x300000040ull, 8 };
	for (uint32_t k = 0; k < 4; k++) {
		call(HOOK_MEMCPY, 1000 + k * 200, bytes[k]);
		call(HOOK_MEMSET, 1100 + k * 200, bytes[k]);
		if (k != 1) /* of host memory to host memory: no work */
			work(REC_MEMCPY, 10 + k * 2, 1000 + k * 200 + LATENCY, (uint32_t)bytes[k])
				->bytes_high = (uint32_t)(bytes[k] >> 32);
		work(REC_MEMSET, 11 + k * 2, 1100 + k * 200 + LATENCY, (uint32_t)bytes[k])
			->bytes_high = (uint32_t)(bytes[k] >> 32);
	}
	pair_all();
	for (uint32_t n = 0; n < 8; n++)
		assert_int_equal(found(10 + n), n == 2 ? 0 : n + 1);
}

/*
 * A program copies its parameters to the GPU, and allocates memory between the copies. Later it
 * copies them back, without allocations: most ids grow by less than the first ones.
 */
static void test_other_calls_between_at_first(void **state)
{
	(void)state;
	uint32_t id = 10;
	for (uint32_t k = 0; k < 14 * 20; k++) {
		const uint32_t bytes = k % 2 ? 2048 : 1 << 20;
		id += k < 14 ? 18 : 10;
		call(HOOK_MEMCPY, 1000 + k * 200, bytes);
		work(REC_MEMCPY, id, 1000 + k * 200 + LATENCY, bytes);
	}
	pair_all();
	id = 10;
	for (uint32_t k = 0; k < 14 * 20; k++) {
		id += k < 14 ? 18 : 10;
		assert_int_equal(found(id), k + 1);
	}
}

/*
 * A launch whose kernel has no name agrees by grid and block. One that is not described, or a
 * kernel that is not, agrees with any.
 */
static void test_names_that_are_not_known(void **state)
{
	(void)state;
	const uint32_t tokens[] = { UNNAMED, 1, NO_LAUNCH, 2, UNNAMED + 1, 3 };
	const uint32_t kernels[] = { 9, 1, 12, 2, UNSHAPED, 3 };
	for (uint32_t i = 0; i < 6; i++) {
		call(HOOK_LAUNCH, 100 + i * 100, tokens[i]);
		work(REC_KERNEL, i + 1, 100 + i * 100 + LATENCY, kernels[i]);
	}
	work(REC_KERNEL, 7, 800, 4)->grid[1] = 2;
	call(HOOK_LAUNCH, 750, 4);
	pair_all();
	assert_int_equal(m.n_answers, 6);
	for (uint32_t i = 1; i <= 6; i++)
		assert_int_equal(found(i), i);
}

static void test_numbers_that_wrap_around(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < 20; k++) {
		call(HOOK_LAUNCH, 100 + k * 100, k);
		work(REC_KERNEL, 0xfffffff6u + k, 100 + k * 100 + LATENCY, k);
	}
	pair_all();
	for (uint32_t k = 0; k < 20; k++)
		assert_int_equal(found(0xfffffff6u + k), k + 1);
}

/*
 * Nothing agrees: nothing is made up, and half a million calls are processed (no time is asserted;
 * it was 20 s when each place was searched anew).
 */
static void test_nothing_agrees(void **state)
{
	(void)state;
	enum { MANY = 500000 };
	for (uint32_t k = 0; k < MANY; k++) {
		call(HOOK_LAUNCH, 1000 + k * 100, 1);
		work(REC_KERNEL, k, 100000000 + k * 100, 2);
	}
	pair_all();
	assert_int_equal(m.n_answers, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_in_order),
		CASE(test_nothing_at_all),
		CASE(test_a_call_without_work),
		CASE(test_calls_that_have_none),
		CASE(test_work_without_a_call),
		CASE(test_leftovers_before_and_after),
		CASE(test_steps_between_are_not_recorded),
		CASE(test_unrecorded_work_comes_first),
		CASE(test_as_many_calls_are_between),
		CASE(test_some_of_what_is_between_is_gone),
		CASE(test_work_left_over_before_the_first_call),
		CASE(test_what_follows_counts),
		CASE(test_lost_calls),
		CASE(test_lost_work),
		CASE(test_first_work_is_lost_and_more_is_to_come),
		CASE(test_first_work_is_lost_and_much_more_is_to_come),
		CASE(test_all_work_begins_late),
		CASE(test_lost_calls_and_work),
		CASE(test_two_threads_race),
		CASE(test_streams_distinguish_racing_twins),
		CASE(test_a_handle_of_several_streams),
		CASE(test_strays_while_threads_race),
		CASE(test_a_graph_is_one_call),
		CASE(test_copies_by_their_bytes),
		CASE(test_other_calls_between_at_first),
		CASE(test_names_that_are_not_known),
		CASE(test_numbers_that_wrap_around),
		CASE(test_nothing_agrees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
