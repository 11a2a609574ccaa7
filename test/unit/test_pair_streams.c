/*
 * Pairing by order where a stream is not simply a handle: devices, threads' default streams, reused
 * handles, graphs, windows.
 */
#include "test/unit/made_order.h"

enum { ITERATIONS = 60, SWAPPED = 7 };

static void check_row(uint32_t thread, uint32_t correlation, uint32_t seq)
{
	assert_int_equal(found(correlation), thread * 1000000 + seq);
}

/*
 * Two threads launch the same kernel at the same moment, each on its stream; at times CUPTI numbers
 * them in the other order.
 */
static void race(uint32_t iteration, uint32_t correlation, const uint16_t *hooks,
		 const uint64_t *handles, const uint32_t *streams, const uint8_t *devices)
{
	bool is_swapped = iteration % SWAPPED == 0;
	for (uint32_t t = 0; t < 2; t++) {
		uint64_t at = iteration * 100000 + t * 10;
		call_on(t, hooks[t], at, 1, handles[t]);
		m.threads[t].calls.at[m.threads[t].calls.n - 1].device = devices[t];
		struct rec_gpu *g = work(REC_KERNEL, correlation + (t ^ is_swapped), at + 100, 1);
		g->stream = streams[t];
		g->device = devices[t];
	}
}

static void check_race(uint32_t iteration, uint32_t correlation, uint32_t seq)
{
	bool is_swapped = iteration % SWAPPED == 0;
	check_row(0, correlation + is_swapped, seq);
	check_row(1, correlation + !is_swapped, seq);
}

/* Every iteration with the same handles and streams. */
static void race_all(const uint16_t *hooks, const uint64_t *handles, const uint32_t *streams,
		     const uint8_t *devices)
{
	for (uint32_t k = 1; k <= ITERATIONS; k++)
		race(k, k * 2, hooks, handles, streams, devices);
	pair_all();
	for (uint32_t k = 1; k <= ITERATIONS; k++)
		check_race(k, k * 2, k);
}

static const uint16_t launches[] = { HOOK_LAUNCH, HOOK_LAUNCH };
static const uint8_t one_device[] = { 0, 0 };

/* CUPTI numbers the streams of each context from the start. The handle of both is 0. */
static void test_two_contexts(void **state)
{
	static const uint64_t handles[] = { 0, 0 };
	static const uint32_t streams[] = { 7, 7 };
	(void)state;
	for (uint32_t k = 1; k <= ITERATIONS; k++)
		race(k, k * 2, launches, handles, streams, one_device);
	for (uint32_t t = 0; t < 2; t++)
		for (size_t k = 0; k < m.threads[t].calls.n; k++)
			m.threads[t].calls.at[k].context = t;
	for (size_t k = 0; k < m.works.n; k++)
		m.works.at[k].context = 1 + k % 2;
	pair_all();
	for (uint32_t k = 1; k <= ITERATIONS; k++)
		check_race(k, k * 2, k);
}

/* Every launch is on a stream of its own, so only the device shows which one it is. */
static void test_streams_of_one_launch_on_two_devices(void **state)
{
	static const uint8_t devices[] = { 0, 1 };
	(void)state;
	for (uint32_t k = 1; k <= ITERATIONS; k++) {
		const uint64_t handles[] = { 1000 + k, 2000 + k };
		const uint32_t streams[] = { 13 + k, 13 + k };
		race(k, k * 2, launches, handles, streams, devices);
	}
	pair_all();
	for (uint32_t k = 1; k <= ITERATIONS; k++)
		check_race(k, k * 2, k);
}

/*
 * Thread 0 loses the CPU inside a launch, before the launch takes its id. Meanwhile thread 1
 * launches the same kernels on the same stream.
 */
static void lose_cpu(uint32_t n_kernels)
{
	enum { LOST_AT = 10, BACK_AT = 50 };
	uint32_t id = 1;
	for (uint32_t k = 1; k <= ITERATIONS; k++) {
		uint64_t at = k * 1000000;
		bool is_away = k >= LOST_AT && k < BACK_AT;
		if (!is_away || k == LOST_AT)
			call_on(0, HOOK_LAUNCH, at, 1, 0);
		if (k == LOST_AT)
			m.threads[0].calls.at[k - 1].duration = (BACK_AT - k) * 1000000 - LENGTH;
		else if (!is_away)
			work(REC_KERNEL, id++, at + LENGTH, 1)->end_ticks = at + 2 * LENGTH;
		call_on(1, HOOK_LAUNCH, at + 500000, 1 + k % n_kernels, 0);
		work(REC_KERNEL, id++, at + 500000 + LENGTH, 1 + k % n_kernels)->end_ticks =
			at + 500000 + 2 * LENGTH;
		if (k == BACK_AT - 1)
			work(REC_KERNEL, id++, at + 1000000 - LENGTH, 1)->end_ticks = at + 1000000;
	}
	pair_all();
	id = 1;
	for (uint32_t k = 1, seq = 1; k <= ITERATIONS; k++) {
		if (k < LOST_AT || k >= BACK_AT)
			check_row(0, id++, seq++);
		check_row(1, id++, k);
		if (k == BACK_AT - 1)
			check_row(0, id++, seq++);
	}
}

static void test_a_launch_that_loses_the_cpu(void **state)
{
	(void)state;
	lose_cpu(2);
}

static void test_a_launch_that_loses_the_cpu_among_equal_ones(void **state)
{
	(void)state;
	lose_cpu(1);
}

/*
 * Thread 0 loses the CPU inside a launch, before the launch takes its id. Meanwhile thread 1
 * launches the same kernel faster than the GPU runs it, and waits. Only that wait shows that the
 * first work is not thread 0's.
 */
static void overtake(uint32_t n_overtaking, uint32_t n_after)
{
	enum { CALL = 3000, WORK = 10000, AWAY = 5000000 };
	uint32_t id = 1, seq = 0;
	tear_down(NULL);
	set_up(NULL);
	call_on(0, HOOK_LAUNCH, 0, 1, 0);
	m.threads[0].calls.at[0].duration = AWAY;
	for (uint32_t k = 1; k <= n_overtaking; k++) {
		call_on(1, HOOK_LAUNCH, 1000000 + k * CALL, 1, 0);
		work(REC_KERNEL, id++, 1000000 + k * WORK, 1)->end_ticks = 1000000 + (k + 1) * WORK;
	}
	call_on(1, HOOK_SYNC, 1000000 + n_overtaking * CALL + 100, 0, 0);
	m.threads[1].calls.at[n_overtaking].duration = n_overtaking * (WORK - CALL) + WORK;
	for (uint32_t k = 0; k <= n_after; k++) {
		if (k)
			call_on(0, HOOK_LAUNCH, AWAY + k * CALL, 1, 0);
		work(REC_KERNEL, id++, AWAY - 100 + k * WORK, 1)->end_ticks =
			AWAY - 100 + (k + 1) * WORK;
	}
	pair_all();
	for (id = 1; id <= n_overtaking; id++)
		check_row(1, id, id);
	for (seq = 1; seq <= n_after + 1; seq++)
		check_row(0, id++, seq);
}

static void test_calls_that_overtake_a_launch(void **state)
{
	(void)state;
	for (uint32_t n = 2; n < 100; n += 7) {
		overtake(n, 0);
		overtake(n, n);
	}
}

/*
 * Two threads set the device up inside their first launch. Each launch takes its id somewhere in
 * the middle, in any order.
 */
static void test_first_launches_that_take_long(void **state)
{
	enum { LONG = 40 };
	(void)state;
	for (uint32_t middle = 1; middle < LONG; middle++) {
		uint32_t id = 1;
		tear_down(state);
		set_up(state);
		call_on(0, HOOK_LAUNCH, 0, 1, 0);
		m.threads[0].calls.at[0].duration = LONG * 1000000;
		for (uint32_t k = 1; k <= ITERATIONS; k++) {
			uint64_t at = k * 1000000;
			call_on(1, HOOK_LAUNCH, at, 1 + k % 2, 0);
			work(REC_KERNEL, id++, at + LENGTH, 1 + k % 2)->end_ticks = at + 100;
			if (k == middle)
				work(REC_KERNEL, id++, at + 900000, 1)->end_ticks = at + 900100;
		}
		pair_all();
		id = 1;
		for (uint32_t k = 1; k <= ITERATIONS; k++) {
			check_row(1, id++, k);
			if (k == middle)
				check_row(0, id++, 1);
		}
	}
}

/* The default stream of both is handle 0; each device may number its own from the start. */
static void test_two_devices(void **state)
{
	static const uint64_t handles[] = { 0, 0 };
	static const uint32_t streams[][2] = { { 7, 7007 }, { 7, 7 } };
	static const uint8_t devices[] = { 0, 1 };
	for (uint32_t way = 0; way < 2; way++) {
		tear_down(state);
		set_up(state);
		race_all(launches, handles, streams[way], devices);
	}
}

static void test_default_streams_of_threads(void **state)
{
	static const uint16_t own[] = { HOOK_LAUNCH_PTSZ, HOOK_LAUNCH_PTSZ };
	static const uint64_t handles[][2] = { { 0, 0 }, { 2, 2 } };
	static const uint32_t streams[] = { 20, 21 };
	for (uint32_t way = 0; way < 2; way++) {
		tear_down(state);
		set_up(state);
		race_all(way ? launches : own, handles[way], streams, one_device);
	}
}

/* Destroyed and made again, a stream has its old handle and a new number. */
static void test_a_reused_handle(void **state)
{
	static const uint64_t handles[] = { 0xa0, 0xb0 };
	(void)state;
	for (uint32_t k = 1; k <= ITERATIONS; k++) {
		uint32_t streams[] = { 13 + k / 20, 30 + k / 20 };
		for (uint32_t t = 0; t < 2 && k % 20 == 0; t++)
			call_on(t, HOOK_STREAM, k * 100000 - 500, 0, handles[t]);
		race(k, k * 2, launches, handles, streams, one_device);
	}
	pair_all();
	for (uint32_t k = 1; k <= ITERATIONS; k++)
		check_race(k, k * 2, k);
}

/*
 * One thread waits in the call that creates its stream while the other one still uses the old
 * stream of that handle, and then destroys it.
 */
static void test_a_handle_reused_by_another_thread(void **state)
{
	enum { HANDLE = 0xa0, EACH = 40, CREATION = EACH * 1000 + 500 };
	(void)state;
	call_on(1, HOOK_STREAM, 500, 0, HANDLE);
	m.threads[1].calls.at[0].duration = CREATION - 500;
	for (uint32_t k = 1; k <= 2 * EACH; k++) {
		bool is_old = k <= EACH;
		call_on(!is_old, HOOK_LAUNCH, k * 1000, 1, HANDLE);
		work(REC_KERNEL, k * 2, k * 1000 + 100, 1)->stream = is_old ? 13 : 14;
	}
	for (uint32_t k = 1; k <= EACH; k++) { /* races with the launch of the same moment */
		call_on(2, HOOK_LAUNCH, k * 1000 + 1, 1, 0xc0);
		work(REC_KERNEL, k * 2 + 1, k * 1000 + 90, 1)->stream = 15;
	}
	pair_all();
	for (uint32_t k = 1; k <= 2 * EACH; k++)
		check_row(k > EACH, k * 2, k <= EACH ? k : k - EACH);
}

/*
 * A thread is suspended within a launch, and meanwhile another thread destroys its stream, which
 * takes a number. So the next launch's number is one higher than usual. It lacks no work.
 */
static void test_another_thread_takes_a_number(void **state)
{
	enum { EACH = 60, SUSPENDED = 40 };
	uint32_t correlation = 0;
	(void)state;
	m.is_closed = true;
	for (uint32_t k = 1; k <= EACH; k++, correlation++) {
		call_on(0, HOOK_LAUNCH, k * 1000, 1, 0xa0);
		work(REC_KERNEL, correlation, k * 1000 + 100, 1)->stream = 13;
	}
	for (uint32_t k = 1; k <= EACH; k++) {
		uint64_t at = (EACH + k) * 1000;
		call_on(1, HOOK_LAUNCH, at, 1, 0xb0);
		work(REC_KERNEL, correlation++, at + 100, 1)->stream = 14;
		if (k == SUSPENDED) {
			m.threads[1].calls.at[k - 1].duration = 900;
			call_on(0, HOOK_STREAM, at + 400, 1, 0xc0);
			correlation++;
		}
	}
	pair_all();
	for (uint32_t k = 1; k <= EACH; k++)
		check_row(0, k - 1, k);
	for (uint32_t k = 1; k <= EACH; k++)
		check_row(1, EACH + k - 1 + (k > SUSPENDED), k);
}

/*
 * While CUPTI is off, calls continue and make no work that is seen. In the first window a kernel is
 * lost.
 */
static void test_several_windows(void **state)
{
	(void)state;
	m.off_begin = 20 * 1000, m.off_end = 40 * 1000;
	for (uint32_t k = 0; k < 60; k++) {
		call(HOOK_LAUNCH, k * 1000, 1);
		if (k != 9 && (k < 20 || k >= 40))
			work(REC_KERNEL, k * 3, 100000 + k, 1);
	}
	pair_all();
	for (uint32_t k = 0; k < 60; k++)
		check_row(0, k * 3, k != 9 && (k < 20 || k >= 40) ? k + 1 : 0);
}

static void launch_graph(uint32_t correlation, uint64_t at)
{
	call(HOOK_GRAPH, at, 0x1234);
	for (uint32_t node = 0; node < 3; node++) {
		struct rec_gpu *g = work(REC_KERNEL, correlation, at + LATENCY + node, node);
		g->graph = 4;
		g->stream = 30 + node;
	}
}

/* Of the third iteration's graph all work is lost, of the fifth's a kernel before it. */
static void test_graphs_between_launches(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= 8; k++) {
		call(HOOK_LAUNCH, k * 10000, 1);
		if (k != 5)
			work(REC_KERNEL, k * 10, k * 10000 + LATENCY, 1);
		if (k != 3)
			launch_graph(k * 10 + 1, k * 10000 + 1000);
		else
			call(HOOK_GRAPH, k * 10000 + 1000, 0x1234);
		call(HOOK_LAUNCH, k * 10000 + 2000, 2);
		work(REC_KERNEL, k * 10 + 2, k * 10000 + 2000 + LATENCY, 2);
	}
	pair_all();
	for (uint32_t k = 1; k <= 8; k++) {
		check_row(0, k * 10, k == 5 ? 0 : k * 3 - 2);
		check_row(0, k * 10 + 1, k == 3 ? 0 : k * 3 - 1);
		check_row(0, k * 10 + 2, k * 3);
	}
}

/* A thread launches graphs, another one kernels of the same moment. */
static void test_graphs_race(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= ITERATIONS; k++) {
		bool is_swapped = k % SWAPPED == 0;
		launch_graph(k * 2 + is_swapped, k * 100000);
		call_on(1, HOOK_LAUNCH, k * 100000 + 10, 1, 0xb0);
		work(REC_KERNEL, k * 2 + !is_swapped, k * 100000 + 90, 1)->stream = 14;
	}
	pair_all();
	for (uint32_t k = 1; k <= ITERATIONS; k++)
		check_race(k, k * 2, k);
}

/*
 * All kernels are alike and one is lost. What was waited for had ended, so it belongs to no call
 * after the wait.
 */
static void test_waits_bound_what_is_lost(void **state)
{
	enum { LAUNCHES = 10, LONG = 100000 };
	uint64_t at = 0;
	(void)state;
	for (uint32_t iteration = 0; iteration < 3; iteration++) {
		for (uint32_t k = 0; k < LAUNCHES; k++) {
			call(HOOK_LAUNCH, at + k * 100, 1);
			if (iteration == 1 && k == 4)
				continue;
			/* numbers without rule */
			struct rec_gpu *g = work(REC_KERNEL, iteration * 1000 + k * (k + 9),
						 at + 500 + k * LONG, 1);
			g->end_ticks = g->begin_ticks + LONG;
		}
		call(HOOK_SYNC, at + 5000, 0);
		m.threads[0].calls.at[m.threads[0].calls.n - 1].duration = (LAUNCHES + 1) * LONG;
		at += (LAUNCHES + 2) * LONG;
	}
	pair_all();
	for (uint32_t n = 0; n < 3 * LAUNCHES; n++) {
		uint32_t k = n % LAUNCHES, answer = found(n / LAUNCHES * 1000 + k * (k + 9));
		assert_true(!answer || answer == n + 1);
	}
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_two_devices),
		CASE(test_two_contexts),
		CASE(test_streams_of_one_launch_on_two_devices),
		CASE(test_first_launches_that_take_long),
		CASE(test_a_launch_that_loses_the_cpu),
		CASE(test_a_launch_that_loses_the_cpu_among_equal_ones),
		CASE(test_calls_that_overtake_a_launch),
		CASE(test_default_streams_of_threads),
		CASE(test_a_reused_handle),
		CASE(test_a_handle_reused_by_another_thread),
		CASE(test_another_thread_takes_a_number),
		CASE(test_several_windows),
		CASE(test_graphs_between_launches),
		CASE(test_graphs_race),
		CASE(test_waits_bound_what_is_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
