/* Which call caused which GPU work where nothing but the order of both says so. */
#include "core/map.h"
#include "core/pair_order.h"
#include "core/vec.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { HOOK_LAUNCH = 1, HOOK_MEMCPY, HOOK_MEMSET, HOOK_GRAPH, HOOK_SYNC, HOOKS };
enum { KERNELS = 40, UNNAMED = 50, UNSHAPED = 60, NO_LAUNCH = 70, THREADS = 8 };
enum { LATENCY = 30, LENGTH = 50 };

static struct made {
	struct dict dict;
	struct made_thread {
		VEC(struct rec_call) calls;
		uint32_t seq;
	} threads[THREADS];
	VEC(struct rec_gpu) works;
	uint64_t off_begin, off_end; /* CUPTI is off between */
	struct rec_external *answers;
	size_t n_answers;
} m;

/* Kernel k has the grid 1 x 1 x 1 like all others, so only its name tells it apart; UNNAMED is a launch whose name was made up. */
static int set_up(void **state)
{
	static const uint8_t categories[HOOKS] = { [HOOK_LAUNCH] = CAT_LAUNCH,
						   [HOOK_MEMCPY] = CAT_MEMCPY,
						   [HOOK_MEMSET] = CAT_MEMSET,
						   [HOOK_GRAPH] = CAT_GRAPH,
						   [HOOK_SYNC] = CAT_SYNC };
	(void)state;
	m = (struct made){ 0 };
	vec_push(&m.dict.hooks, (struct hook_entry){ .category = CAT_COUNT });
	for (size_t i = 1; i < HOOKS; i++)
		vec_push(&m.dict.hooks, (struct hook_entry){ .category = categories[i] });
	for (uint32_t k = 0; k <= UNSHAPED; k++) {
		vec_push(&m.dict.kernels, (struct kernel_entry){ .name = k,
								 .block = { 32, 1, 1 },
								 .is_known = k < UNSHAPED });
		*map_at(&m.dict.launch_of_token, k, NULL) = m.dict.launches.n;
		vec_push(&m.dict.launches, (struct launch_entry){ .token = k,
								  .name = k,
								  .grid = { 1, 1, 1 },
								  .block = { 32, 1, 1 },
								  .is_named = k < UNNAMED });
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dict_free(&m.dict);
	for (size_t i = 0; i < THREADS; i++)
		vec_free(&m.threads[i].calls);
	vec_free(&m.works);
	free(m.answers);
	return 0;
}

/* Its number; calls of a thread come in order. */
static uint32_t call_on(uint32_t thread, uint16_t hook, uint64_t begin, uint64_t arg,
			uint64_t stream)
{
	struct made_thread *t = &m.threads[thread];
	vec_push(&t->calls, (struct rec_call){ .hook = hook,
					       .begin_ticks = begin,
					       .duration = LENGTH,
					       .seq = hook == HOOK_SYNC ? 0 : ++t->seq,
					       .stream = stream,
					       .arg = arg });
	return t->seq;
}

static uint32_t call(uint16_t hook, uint64_t begin, uint64_t arg)
{
	return call_on(0, hook, begin, arg, 0);
}

static struct rec_gpu *work(uint8_t kind, uint32_t correlation, uint64_t begin, uint32_t what)
{
	struct rec_gpu g = {
		.kind = kind, .correlation = correlation, .begin_ticks = begin, .stream = 7
	};
	if (kind == REC_KERNEL) {
		g.name = what;
		g.grid[0] = g.grid[1] = g.grid[2] = 1;
	} else {
		g.bytes_low = what;
	}
	vec_push(&m.works, g);
	return &m.works.at[m.works.n - 1];
}

static bool expects_work(const void *context, const struct rec_call *c)
{
	(void)context;
	return !c->status && c->hook != HOOK_SYNC &&
	       !(c->begin_ticks >= m.off_begin && c->begin_ticks < m.off_end);
}

static void pair_all(void)
{
	struct pair_thread threads[THREADS];
	for (uint32_t i = 0; i < THREADS; i++)
		threads[i] = (struct pair_thread){ .slot = i + 1,
						   .calls = m.threads[i].calls.at,
						   .n_calls = m.threads[i].calls.n };
	const struct pair_input in = { .dict = &m.dict,
				       .threads = threads,
				       .n_threads = THREADS,
				       .works = m.works.at,
				       .n_works = m.works.n,
				       .expects_work = expects_work };
	m.answers = mem_resize(m.answers, m.works.n * sizeof(*m.answers));
	m.n_answers = pair_by_order(&in, m.answers);
}

/* thread * 1e6 + the call's number in it; 0: none was found. */
static uint32_t found(uint32_t correlation)
{
	uint32_t answer = 0;
	for (size_t i = 0; i < m.n_answers; i++) {
		if (m.answers[i].correlation != correlation)
			continue;
		assert_int_equal(answer, 0);
		assert_int_equal(m.answers[i].kind, REC_EXTERNAL);
		answer = (m.answers[i].thread - 1) * 1000000 + m.answers[i].seq;
	}
	return answer;
}

/* Launches of kernels [first, first + n), each with its kernel unless it is `but`. Correlations are 10 * kernel. */
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

/* Work that began before the first call is of calls that were made before, work behind the last call of ones that are not read. */
static void test_leftovers_before_and_behind(void **state)
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

/* The last calls of a step are told by what comes behind it: the third's work is lost, and the next turn's is not taken for it. */
static void test_what_comes_behind_counts(void **state)
{
	(void)state;
	for (uint32_t turn = 0; turn < 3; turn++)
		for (uint32_t k = 1; k <= 3; k++) {
			uint64_t at = turn * 1000 + k * 100;
			call(HOOK_LAUNCH, at, k);
			if (turn || k < 3)
				work(REC_KERNEL, turn * 3 + k, at + LATENCY, k);
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
		work(REC_KERNEL, k, 3000 + k, k % 3); /* the GPU is far behind */
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
	/* where the pattern repeats, the hole may lie a little earlier, never what is behind it */
	assert_true(right >= 99);
	for (uint32_t k = 1; k < 100; k++)
		assert_int_equal(found(k), k);
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
	for (uint32_t k = 1; k <= 20; k++) {
		assert_int_equal(found(k * 2 + (k % 3 == 0)), k);
		assert_int_equal(found(k * 2 + (k % 3 != 0)), 1000000 + k);
	}
}

/* The same kernel, too: then the streams tell, which are known by what most have. */
static void test_streams_tell_racing_twins_apart(void **state)
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
	for (uint32_t k = 1; k <= 40; k++) {
		assert_int_equal(found(k * 2 + (k % 15 == 0)), k);
		assert_int_equal(found(k * 2 + (k % 15 != 0)), 1000000 + k);
	}
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
		call_on(k % 2, HOOK_LAUNCH, at, k % 2 ? 2 : k % 5 + 3, k % 2);
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

/* A launch whose kernel has no name agrees by grid and block, one that is not described or a kernel that is not with any. */
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

/* Nothing agrees: nothing is made up, and half a million calls are done with (no time is asserted; it was 20 s where each place was looked at anew). */
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

/* ---- Made at random, compared with what external ids would have said ---- */

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 11) % n);
}

struct truth {
	uint64_t number_ticks; /* when CUPTI gave out its number */
	uint32_t answer, thread, kernel;
	bool has_call;
};

static int by_number(const void *a, const void *b)
{
	const struct truth *x = a, *y = b;
	return x->number_ticks < y->number_ticks ? -1 : x->number_ticks > y->number_ticks;
}

struct random_run {
	uint32_t threads, kernels, n, lost_permille; /* of each side */
};

static void make_at_random(const struct random_run *run, struct truth *truths)
{
	uint64_t at[THREADS] = { 0 }, gpu[THREADS] = { 0 };
	for (uint32_t i = 0; i < run->n; i++) {
		uint32_t t = i % run->threads, length = 20 + random_below(60);
		at[t] += 10 + random_below(100);
		struct truth *one = &truths[i];
		*one = (struct truth){ .number_ticks = at[t] + random_below(length),
				       .thread = t,
				       .kernel = random_below(run->kernels),
				       .has_call = random_below(1000) >= run->lost_permille };
		if (one->has_call) {
			call_on(t, HOOK_LAUNCH, at[t], one->kernel, 0xa00 + t);
			m.threads[t].calls.at[m.threads[t].calls.n - 1].duration = length;
		} else {
			m.threads[t].seq++;
		}
		one->answer = t * 1000000 + m.threads[t].seq;
		at[t] += length;
	}
	qsort(truths, run->n, sizeof(*truths), by_number);
	for (uint32_t i = 0; i < run->n; i++) {
		const struct truth *one = &truths[i];
		uint64_t *busy = &gpu[one->thread], begin = one->number_ticks + 100;
		begin = begin > *busy ? begin : *busy;
		*busy = begin + 20 + random_below(80);
		if (random_below(1000) >= run->lost_permille)
			work(REC_KERNEL, i + 1, begin, one->kernel)->stream = 13 + one->thread;
	}
}

/* In per cent: of the work whose call is there, what found it; of what found one, what found another. */
static void compare(const struct random_run *run, uint64_t seed, uint32_t *right_pct,
		    uint32_t *wrong_pct)
{
	struct truth *truths = mem_zero(run->n * sizeof(*truths));
	uint32_t *answer = mem_zero((run->n + 1) * sizeof(*answer)), n = 0, right = 0, wrong = 0;
	random_state = seed;
	make_at_random(run, truths);
	pair_all();
	for (size_t i = 0; i < m.n_answers; i++)
		answer[m.answers[i].correlation] =
			(m.answers[i].thread - 1) * 1000000 + m.answers[i].seq;
	for (size_t i = 0; i < m.works.n; i++) {
		const struct truth *one = &truths[m.works.at[i].correlation - 1];
		uint32_t a = answer[m.works.at[i].correlation];
		n += one->has_call;
		right += one->has_call && a == one->answer;
		wrong += a && (a != one->answer || !one->has_call);
	}
	*right_pct = 100 * right / n;
	*wrong_pct = (100 * wrong + (uint32_t)m.n_answers - 1) / (uint32_t)m.n_answers;
	free(truths);
	free(answer);
}

static void test_against_ids_at_random(void **state)
{
	/*          threads, kernels, calls, lost per mille; at least right %, at most wrong % */
	static const struct {
		struct random_run run;
		uint32_t right_pct, wrong_pct;
	} rows[] = {
		{ { 1, 40, 4000, 0 }, 100, 0 }, { { 1, 1, 4000, 0 }, 100, 0 },
		{ { 1, 40, 4000, 5 }, 99, 0 },	{ { 1, 40, 4000, 50 }, 98, 1 },
		{ { 2, 40, 4000, 0 }, 100, 0 }, { { 4, 40, 4000, 0 }, 100, 0 },
		{ { 8, 40, 4000, 0 }, 100, 0 }, { { 4, 4, 4000, 0 }, 100, 0 },
		{ { 2, 40, 4000, 5 }, 99, 0 },	{ { 4, 40, 4000, 20 }, 98, 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (uint64_t seed = 1; seed <= 5; seed++) {
			uint32_t right, wrong;
			tear_down(state);
			set_up(state);
			compare(&rows[i].run, seed * 7919, &right, &wrong);
			assert_true(right >= rows[i].right_pct);
			assert_true(wrong <= rows[i].wrong_pct);
		}
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
		CASE(test_leftovers_before_and_behind),
		CASE(test_what_comes_behind_counts),
		CASE(test_lost_calls),
		CASE(test_lost_work),
		CASE(test_two_threads_race),
		CASE(test_streams_tell_racing_twins_apart),
		CASE(test_a_handle_of_several_streams),
		CASE(test_strays_while_threads_race),
		CASE(test_a_graph_is_one_call),
		CASE(test_copies_by_their_bytes),
		CASE(test_names_that_are_not_known),
		CASE(test_numbers_that_wrap_around),
		CASE(test_nothing_agrees),
		CASE(test_against_ids_at_random),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
