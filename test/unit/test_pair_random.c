/* Pairing by order in runs made at random, against what CUPTI's ids would have said. */
#include "test/unit/made_order.h"

enum { SEEDS = 5, EXTRA_NUMBERS = 3, HOLE_AT = 1500 };

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 11) % n);
}

static bool random_permille(uint32_t permille)
{
	return random_below(1000) < permille;
}

/* Per mille of all calls, where nothing else is said. */
struct random_run {
	const char *name;
	uint32_t threads, kernels, n;
	/* number of calls after which the same ones repeat; 0: no two iterations are alike */
	uint32_t iteration;
	uint32_t numbers; /* that CUPTI assigns per call: what else the program asks of the API */
	uint32_t odd;	  /* a few numbers more */
	uint32_t lost_calls, lost_works;
	/*
	 * A journal that is full drops this number of calls in a row, from HOLE_AT on. The work
	 * dropped is that of calls which are `gpu_lag` calls earlier.
	 */
	uint32_t hole, gpu_lag;
	/*
	 * A journal that is full again and again: of this number of calls, those of `hole` are
	 * dropped, by one thread after the other, and as much work as `hole`. The library says how
	 * much work it dropped.
	 */
	uint32_t hole_every;
	uint32_t empty,
		copies_of_nothing; /* calls that make no work, of a kernel and of no bytes */
	uint32_t strays;	   /* work that no call was seen of */
	uint32_t wait_every;	   /* calls of a thread; 0: never */
	uint32_t gpu_pct;	   /* what a kernel takes, of what a call does */
	uint32_t right_permille,
		wrong_permille; /* at least and at most, of all work and of what was paired */
};

struct truth {
	uint64_t number_ticks; /* when CUPTI gave out its number */
	uint64_t begin_ticks, end_ticks;
	uint32_t answer, thread, kernel, numbers;
	bool has_call, has_work, is_in_hole;
};

static int by_number(const void *a, const void *b)
{
	const struct truth *x = a, *y = b;
	return x->number_ticks < y->number_ticks ? -1 : x->number_ticks > y->number_ticks;
}

static uint32_t kernel_of(const struct random_run *run, uint32_t i)
{
	static uint32_t iteration[1000];
	if (!run->iteration)
		return random_below(run->kernels);
	if (i < run->iteration)
		iteration[i] = random_below(run->kernels);
	return iteration[i % run->iteration];
}

static bool is_in_hole(const struct random_run *run, uint32_t i)
{
	if (run->hole_every) { /* each thread's begins later than that of the one before */
		uint32_t at = i % run->hole_every + i % run->threads * run->hole / 2;
		return at >= run->hole_every - run->hole && at < run->hole_every;
	}
	return i >= HOLE_AT && i - HOLE_AT < run->hole;
}

/* Returns whether the journal drops the work of the call. Work is delivered in the order of ids. */
static bool drops_work(const struct random_run *run, uint32_t i)
{
	if (run->hole_every)
		return (i + run->gpu_lag) % run->hole_every >= run->hole_every - run->hole;
	return is_in_hole(run, i + run->gpu_lag);
}

static void note_dropped(uint32_t number, bool is_first)
{
	if (is_first)
		vec_push(&m.dropped, (struct pair_dropped){ .first_id = number });
	m.dropped.at[m.dropped.n - 1].last_id = number;
	m.dropped.at[m.dropped.n - 1].n++;
}

static void make_call(const struct random_run *run, struct truth *one, uint64_t *at, uint64_t *gpu)
{
	uint32_t length = 4000 + random_below(12000);
	bool is_copy = random_permille(run->copies_of_nothing),
	     is_stray = random_permille(run->strays);
	*at += 2000 + random_below(20000);
	one->number_ticks = *at + random_below(length);
	one->has_work = !is_copy && !random_permille(run->empty);
	one->numbers =
		run->numbers + (random_permille(run->odd) ? 1 + random_below(EXTRA_NUMBERS) : 0);
	one->has_call = !is_stray && !random_permille(run->lost_calls) && !one->is_in_hole;
	if (one->has_call) {
		call_on(one->thread, is_copy ? HOOK_MEMCPY : HOOK_LAUNCH, *at,
			is_copy ? 0 : one->kernel, 0xa00 + one->thread);
		m.threads[one->thread].calls.at[m.threads[one->thread].calls.n - 1].duration =
			length;
	} else if (!is_stray) {
		m.threads[one->thread].seq++;
	}
	one->answer = one->thread * 1000000 + m.threads[one->thread].seq;
	*at += length;
	one->begin_ticks = one->number_ticks + 5000 > *gpu ? one->number_ticks + 5000 : *gpu;
	one->end_ticks = one->begin_ticks + (4000 + random_below(16000)) * run->gpu_pct / 100;
	if (one->has_work)
		*gpu = one->end_ticks;
}

static void make_wait(uint32_t thread, uint64_t *at, uint64_t gpu)
{
	uint64_t end = gpu > *at + 1000 ? gpu + 2000 : *at + 2000;
	call_on(thread, HOOK_STREAM_SYNC, *at + 500, 0, 0xa00 + thread);
	m.threads[thread].calls.at[m.threads[thread].calls.n - 1].duration = end - *at - 500;
	*at = end;
}

static void make_at_random(const struct random_run *run, struct truth *truths)
{
	uint64_t at[THREADS] = { 0 }, gpu[THREADS] = { 0 };
	for (uint32_t i = 0; i < run->n; i++) {
		uint32_t t = i % run->threads;
		truths[i] = (struct truth){ .thread = t,
					    .kernel = kernel_of(run, i),
					    .is_in_hole = is_in_hole(run, i) };
		make_call(run, &truths[i], &at[t], &gpu[t]);
		if (run->wait_every && (i / run->threads + 1) % run->wait_every == 0)
			make_wait(t, &at[t], gpu[t]);
	}
	qsort(truths, run->n, sizeof(*truths), by_number);
	uint32_t number = 0;
	bool is_dropping = false;
	m.was_full = run->hole_every;
	for (uint32_t i = 0; i < run->n; i++) {
		const struct truth *one = &truths[i];
		number += one->numbers;
		if (one->has_work && run->hole_every && drops_work(run, i)) {
			note_dropped(number, !is_dropping);
			is_dropping = true;
			continue;
		}
		if (!one->has_work || drops_work(run, i) || random_permille(run->lost_works))
			continue;
		is_dropping = false;
		struct rec_gpu *g = work(REC_KERNEL, number, one->begin_ticks, one->kernel);
		g->stream = 13 + one->thread;
		g->end_ticks = one->end_ticks;
		g->node = i; /* for the comparison alone: no graph */
	}
}

struct score {
	uint32_t n, right, wrong, paired;
};

static struct score compare(const struct random_run *run, uint64_t seed)
{
	struct truth *truths = mem_zero(run->n * sizeof(*truths));
	struct map answers = { 0 };
	struct score score = { 0 };
	random_state = seed;
	make_at_random(run, truths);
	pair_all();
	for (size_t i = 0; i < m.n_answers; i++)
		*map_at(&answers, m.answers[i].correlation, NULL) =
			(m.answers[i].thread - 1) * 1000000 + m.answers[i].seq;
	for (size_t i = 0; i < m.works.n; i++) {
		const struct truth *one = &truths[m.works.at[i].node];
		const uint64_t *answer = map_find(&answers, m.works.at[i].correlation);
		bool is_right = answer && one->has_call && *answer == one->answer;
		score.n += one->has_call;
		score.right += is_right;
		score.paired += answer != NULL;
		score.wrong += answer && !is_right;
	}
	map_free(&answers);
	free(truths);
	return score;
}

/*
 * Where only twins are launched, only CUPTI's numbers show which call lost its work. If these are
 * irregular too, a shift is noticed where a wait returned; the clocks' difference hides a shift by
 * a single short kernel.
 */
static const struct random_run runs[] = {
	/* clang-format off */
	{ .name = "nothing lost", .threads = 1, .kernels = 40, .right_permille = 1000 },
	{ .name = "twins, nothing lost", .threads = 1, .kernels = 1, .right_permille = 1000 },
	{ .name = "two threads", .threads = 2, .kernels = 40, .right_permille = 1000 },
	{ .name = "eight threads", .threads = 8, .kernels = 40, .right_permille = 1000 },
	{ .name = "losses", .threads = 1, .kernels = 40, .lost_calls = 5, .lost_works = 5,
	  .right_permille = 998 },
	{ .name = "many losses", .threads = 1, .kernels = 40, .lost_calls = 50, .lost_works = 50,
	  .right_permille = 995, .wrong_permille = 1 },
	{ .name = "loop, losses", .threads = 1, .kernels = 40, .iteration = 100, .lost_calls = 5,
	  .lost_works = 5, .right_permille = 999 },
	{ .name = "loop, many losses", .threads = 1, .kernels = 40, .iteration = 100,
	  .lost_calls = 50, .lost_works = 50, .right_permille = 990, .wrong_permille = 1 },
	{ .name = "loop like PyTorch's, losses", .threads = 1, .kernels = 10, .iteration = 300,
	  .numbers = 4, .odd = 50, .lost_calls = 5, .lost_works = 5, .right_permille = 998 },
	{ .name = "irregular calls", .threads = 1, .kernels = 40, .numbers = 3, .odd = 50,
	  .empty = 50, .copies_of_nothing = 100, .strays = 50, .right_permille = 980,
	  .wrong_permille = 1 },
	{ .name = "irregular calls in a loop", .threads = 1, .kernels = 10, .iteration = 200,
	  .numbers = 3, .odd = 50, .empty = 50, .copies_of_nothing = 100, .strays = 50,
	  .right_permille = 970, .wrong_permille = 4 },
	{ .name = "all at once", .threads = 1, .kernels = 10, .iteration = 200, .numbers = 3,
	  .odd = 50, .empty = 50, .copies_of_nothing = 100, .strays = 50, .lost_calls = 50,
	  .lost_works = 50, .wait_every = 50, .right_permille = 940, .wrong_permille = 8 },
	{ .name = "twins, losses", .threads = 1, .kernels = 1, .lost_calls = 5, .lost_works = 5,
	  .right_permille = 998 },
	{ .name = "twins, losses, numbers", .threads = 1, .kernels = 1, .numbers = 3,
	  .lost_calls = 5, .lost_works = 5, .right_permille = 998 },
	{ .name = "twins, lost work, odd numbers", .threads = 1, .kernels = 1, .numbers = 3,
	  .odd = 100, .lost_works = 5, .wait_every = 100, .right_permille = 950,
	  .wrong_permille = 30 },
	{ .name = "twins, no two numbers alike", .threads = 1, .kernels = 1, .numbers = 3,
	  .odd = 600, .lost_works = 5, .wait_every = 100, .right_permille = 700,
	  .wrong_permille = 60 },
	{ .name = "twins far ahead", .threads = 1, .kernels = 1, .numbers = 3, .odd = 600,
	  .lost_works = 5, .wait_every = 100, .gpu_pct = 500, .right_permille = 650,
	  .wrong_permille = 160 },
	{ .name = "two threads, losses", .threads = 2, .kernels = 40, .lost_calls = 5,
	  .lost_works = 5, .right_permille = 998 },
	{ .name = "four threads, many losses", .threads = 4, .kernels = 40, .lost_calls = 20,
	  .lost_works = 20, .right_permille = 990, .wrong_permille = 1 },
	{ .name = "four threads of twins, losses", .threads = 4, .kernels = 1, .numbers = 2,
	  .lost_works = 5, .wait_every = 100 },
	{ .name = "four threads, irregular", .threads = 4, .kernels = 10, .iteration = 200,
	  .numbers = 3, .odd = 50, .empty = 20, .copies_of_nothing = 50, .strays = 20,
	  .lost_works = 5, .right_permille = 980, .wrong_permille = 1 },
	/* the GPU lags, and nothing waits for it */
	{ .name = "twins, hole", .threads = 1, .kernels = 1, .hole = 1000, .gpu_lag = 200,
	  .gpu_pct = 300, .right_permille = 1000 },
	{ .name = "short loop, hole", .threads = 1, .kernels = 4, .iteration = 7, .hole = 1000,
	  .gpu_lag = 200, .gpu_pct = 300, .right_permille = 1000 },
	{ .name = "short loop, nearly all work lost", .threads = 1, .kernels = 4, .iteration = 7,
	  .hole = 1000, .gpu_lag = 900, .gpu_pct = 300, .right_permille = 1000 },
	{ .name = "short loop, hole, no lag", .threads = 1, .kernels = 4, .iteration = 7,
	  .hole = 1000, .right_permille = 999 },
	{ .name = "loop, hole", .threads = 1, .kernels = 40, .iteration = 300, .hole = 1000,
	  .gpu_lag = 200, .gpu_pct = 300, .right_permille = 1000 },
	{ .name = "loop like PyTorch's with waits, hole", .threads = 1, .kernels = 10,
	  .iteration = 300, .numbers = 4, .odd = 50, .hole = 1000, .gpu_lag = 50, .wait_every = 100,
	  .right_permille = 999 },
	{ .name = "two threads of twins", .threads = 2, .kernels = 1, .numbers = 4, .odd = 50,
	  .gpu_pct = 300, .right_permille = 1000 },
	/* a journal that is full again and again */
	{ .name = "twins, holes", .threads = 1, .kernels = 1, .hole = 250, .hole_every = 600,
	  .gpu_lag = 100, .gpu_pct = 300, .right_permille = 1000 },
	{ .name = "twins, odd numbers, holes", .threads = 1, .kernels = 1, .numbers = 3,
	  .odd = 600, .hole = 250, .hole_every = 600, .gpu_lag = 100, .gpu_pct = 300,
	  .right_permille = 1000 },
	{ .name = "loop like PyTorch's, holes", .threads = 1, .kernels = 10, .iteration = 300,
	  .numbers = 4, .odd = 50, .hole = 250, .hole_every = 600, .gpu_lag = 330,
	  .gpu_pct = 300, .right_permille = 1000 },
	{ .name = "two threads, holes", .threads = 2, .kernels = 10, .iteration = 300,
	  .numbers = 4, .odd = 50, .hole = 100, .hole_every = 1000, .gpu_lag = 330,
	  .gpu_pct = 300, .right_permille = 870 },
	{ .name = "two threads of twins, holes", .threads = 2, .kernels = 1, .numbers = 4,
	  .odd = 50, .hole = 100, .hole_every = 1000, .gpu_lag = 330, .gpu_pct = 300 },
	/* clang-format on */
};

static void test_against_ids(void **state)
{
	for (size_t k = 0; k < sizeof(runs) / sizeof(*runs); k++) {
		struct random_run run = runs[k];
		struct score all = { 0 };
		run.n = 4000;
		run.numbers += !run.numbers;
		run.gpu_pct = run.gpu_pct ? run.gpu_pct : 100;
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			tear_down(state);
			set_up(state);
			struct score one = compare(&run, seed * 7919);
			all.n += one.n;
			all.right += one.right;
			all.wrong += one.wrong;
			all.paired += one.paired;
		}
		assert_true(all.right * 1000ull >= all.n * (uint64_t)run.right_permille);
		assert_true(all.wrong * 1000ull <= all.paired * (uint64_t)run.wrong_permille);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_against_ids, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
