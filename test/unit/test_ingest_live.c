/* Reads a journal as the collector does while its process runs. */
#include "core/runtime/clock.h"
#include "test/unit/journal_ingest.h"

enum { STEPS = 40, CALLS = 1000, STEP_NS = 1000000000 };

struct seen {
	VEC(uint64_t) numbers;
	uint64_t n_calls;
};

static void look_at(void *context, struct ingest *f, struct model_step *m)
{
	struct seen *seen = context;
	(void)f;
	vec_push(&seen->numbers, m->number);
	seen->n_calls += m->calls.n;
}

/* Steps of one thread, which synchronizes CALLS times in each. Another thread calls once. */
static struct journal_builder *long_run(void)
{
	struct journal_builder *b = jb_new(64, 65536);
	uint32_t seq = 0;
	jb_thread(b, 1, 100, "main");
	jb_thread(b, 2, 101, "other");
	for (uint64_t step = 0; step <= STEPS; step++) {
		uint64_t at = 10 + step * STEP_NS;
		jb_step(b, 1, STEP_BEGIN, at, step + 1, SCHED_RECORD);
		for (uint64_t i = 0; step < STEPS && i < CALLS; i++)
			jb_call(b, 1, JB_SYNC, at + 100 + i * 1000, 500, ++seq, 0);
		if (!step)
			jb_call(b, 2, JB_SYNC, at + 100, 500, 1, 0);
	}
	return b;
}

static void open_live(struct ingest *f, const struct journal_builder *b, struct seen *seen)
{
	const struct ingest_sink sink = { .context = seen, .step = look_at };
	struct err e;
	jb_write(b, path);
	assert_int_equal(ingest_open(f, path, true, &sink, &e), 0);
}

/* So its memory and the journal's do not grow while it catches up, and it sees what happens. */
static void test_a_late_collector_passes_on_steps_while_it_reads(void **state)
{
	(void)state;
	struct journal_builder *b = long_run();
	struct seen seen = { 0 };
	struct ingest f;
	uint64_t most_held = 0;
	unsigned n_slices = 1;
	open_live(&f, b, &seen);
	for (; !ingest_read(&f); n_slices++) {
		assert_true(f.is_in_pass);
		if (f.n_pending > most_held)
			most_held = f.n_pending;
	}
	assert_false(f.is_in_pass);
	assert_in_range(n_slices, 4, STEPS);
	assert_true(most_held < (uint64_t)STEPS * CALLS / 3);
	assert_int_equal(seen.numbers.n, STEPS);
	for (size_t i = 0; i < seen.numbers.n; i++)
		assert_int_equal(seen.numbers.at[i], i + 1);
	assert_int_equal(seen.n_calls, STEPS * CALLS + 1);
	ingest_close(&f);
	vec_free(&seen.numbers);
	jb_free(b);
}

static void write_again(const struct journal_builder *b)
{
	FILE *file = fopen(path, "r+b");
	assert_non_null(file);
	assert_int_equal(fwrite(b->bytes, 1, b->size, file), b->size);
	assert_int_equal(fclose(file), 0);
}

/*
 * The rest of a chunk of which a part was read does not show that everything before was read: a
 * chunk that was claimed later may have older records, which have not been read.
 */
static void test_only_a_new_chunk_shows_what_has_been_read(void **state)
{
	(void)state;
	struct journal_builder *b = jb_new(4, 1 << 20);
	struct seen seen = { 0 };
	struct ingest f;
	jb_thread(b, 1, 100, "main");
	jb_thread(b, 2, 101, "other");
	jb_call(b, 1, JB_SYNC, 1000, 500, 1, 0);
	jb_call(b, 2, JB_SYNC, 2000, 500, 1, 0);
	open_live(&f, b, &seen);
	assert_true(ingest_read(&f));
	uint64_t now = clock_ticks(f.time.kind);
	assert_true(f.read_until_ticks <= now);
	jb_call(b, 2, JB_SYNC, now + 1 - JB_START, 500, 2, 0);
	for (uint32_t i = 0; i < 5000; i++)
		jb_call(b, 1, JB_SYNC, now + 2 + i - JB_START, 500, 2 + i, 0);
	write_again(b);
	while (clock_ticks(f.time.kind) <= now + 2)
		;
	assert_false(ingest_read(&f));
	assert_int_equal(f.counts.calls, 2 + 5000);
	assert_true(f.read_until_ticks <= now + 1);
	ingest_read_all(&f);
	assert_int_equal(f.counts.calls, 2 + 5000 + 1);
	assert_true(f.read_until_ticks > now + 2);
	ingest_close(&f);
	jb_free(b);
}

/* ---- GPU records that one thread delivers before another thread's earlier ones ---- */

enum {
	LAUNCHES = 10000,
	LAUNCHES_PER_STEP = 50,
	LAUNCH_NS = 1000000,
	LATENCY_NS = 5000,
	/* thread 3 delivers the work of the last launches, thread 2 that of all others */
	FLUSHED = 900,
	/* thread 3 has also delivered the work of these launches, in order */
	FLUSHED_EARLY = 50,
	FLUSHED_FROM = 4000,
	MAIN = 1,
	CUPTI = 2,
	FLUSHER = 3,
	BETWEEN = 2000, /* thread 2 delivers this many launches' work late */
};

struct right {
	size_t n_right, n_wrong;
};

/* Each piece of work begins LATENCY_NS after its own call. */
static void check_pairs(void *context, struct ingest *f, struct model_step *m)
{
	struct right *r = context;
	(void)f;
	for (size_t j = 0; j < m->works.n; j++) {
		const struct model_work *w = &m->works.at[j];
		bool is_right = w->call != MODEL_NO_CALL &&
				m->calls.at[w->call].begin_ns + LATENCY_NS == w->begin_ns;
		r->n_right += is_right;
		r->n_wrong += !is_right;
	}
}

/*
 * Returns when launch `i` begins. The last one is 5 s ago: the collector still waits for its work,
 * and all earlier work is in the past.
 */
static uint64_t launch_at(const struct journal_builder *b, uint64_t i)
{
	static uint64_t first;
	if (!first)
		first = clock_ticks(b->header->clock.kind) - JB_START -
			(LAUNCHES + 5000) * (uint64_t)LAUNCH_NS;
	return first + i * LAUNCH_NS;
}

static struct journal_builder *launch_run(void)
{
	struct journal_builder *b = jb_new(256, 65536);
	jb_thread(b, MAIN, 100, "main");
	jb_thread(b, CUPTI, 101, "cupti");
	jb_thread(b, FLUSHER, 102, "flusher");
	jb_string(b, 1, "k");
	jb_kernel(b, 1, 1);
	jb_info(b, "pairing", "order");
	jb_gpu_state(b, MAIN, GPU_ON, launch_at(b, 0) - 100, 0);
	return b;
}

static void begin_step(struct journal_builder *b, uint64_t i, enum sched_action action)
{
	jb_step(b, MAIN, STEP_BEGIN, launch_at(b, i) - 90, i / LAUNCHES_PER_STEP, action);
}

static void launch(struct journal_builder *b, uint64_t i)
{
	if (i % LAUNCHES_PER_STEP == 0)
		begin_step(b, i, SCHED_RECORD);
	jb_call(b, MAIN, JB_LAUNCH, launch_at(b, i), 1000, (uint32_t)i + 1, 7);
}

static void deliver(struct journal_builder *b, uint32_t slot, uint64_t i)
{
	jb_work(b, slot, REC_KERNEL, 1, launch_at(b, i) + LATENCY_NS, 3000, (uint32_t)i + 1, 7);
}

/*
 * Launches from `first` on. At the end thread 3, whose chunk was claimed early, delivers the work
 * of the last ones.
 */
static void launch_rest(struct journal_builder *b, uint64_t first)
{
	for (uint64_t i = first; i < LAUNCHES; i++) {
		launch(b, i);
		uint64_t late = i - BETWEEN;
		bool is_early = late >= FLUSHED_FROM && late < FLUSHED_FROM + FLUSHED_EARLY;
		if (i >= first + BETWEEN && late < LAUNCHES - FLUSHED)
			deliver(b, is_early ? FLUSHER : CUPTI, late);
	}
	for (uint64_t i = LAUNCHES - BETWEEN; i < LAUNCHES; i++)
		deliver(b, i < LAUNCHES - FLUSHED ? CUPTI : FLUSHER, i);
	begin_step(b, LAUNCHES, SCHED_NONE);
}

static void check_right(const struct right *r)
{
	assert_int_equal(r->n_wrong, 0);
	assert_int_equal(r->n_right, LAUNCHES);
}

/* The collector has read the beginning of thread 3's chunk in an earlier pass. */
static void test_work_of_a_continued_chunk_waits_for_earlier_work(void **state)
{
	(void)state;
	struct journal_builder *b = launch_run();
	struct right right = { 0 };
	const struct ingest_sink sink = { .context = &right, .step = check_pairs };
	struct ingest f;
	struct err e;
	launch(b, 0);
	deliver(b, FLUSHER, 0);
	jb_write(b, path);
	assert_int_equal(ingest_open(&f, path, true, &sink, &e), 0);
	assert_true(ingest_read(&f));
	launch_rest(b, 1);
	write_again(b);
	while (!ingest_read(&f))
		;
	ingest_finish(&f, false);
	check_right(&right);
	ingest_close(&f);
	jb_free(b);
}

/* The collector reads all at once, or the tool reads the journal afterwards. */
static void check_one_pass(bool is_live)
{
	struct journal_builder *b = launch_run();
	struct right right = { 0 };
	const struct ingest_sink sink = { .context = &right, .step = check_pairs };
	struct ingest f;
	struct err e;
	launch(b, 0);
	deliver(b, FLUSHER, 0);
	launch_rest(b, 1);
	jb_write(b, path);
	assert_int_equal(ingest_open(&f, path, is_live, &sink, &e), 0);
	while (!ingest_read(&f))
		;
	ingest_finish(&f, false);
	check_right(&right);
	ingest_close(&f);
	jb_free(b);
}

static void test_work_of_a_new_chunk_waits_for_earlier_work(void **state)
{
	(void)state;
	check_one_pass(true);
	check_one_pass(false);
}

/* ---- Graphs ---- */

enum { GRAPH_STEPS = 3, PIECES = 200, PIECES_BEFORE = 60 };

/*
 * Returns when a step begins. The first one was half a second ago, so that the collector still
 * waits for its work, also on a slow machine.
 */
static uint64_t graph_step_at(const struct journal_builder *b, uint64_t step)
{
	static uint64_t first;
	if (!first)
		first = clock_ticks(b->header->clock.kind) - JB_START - 500 * (uint64_t)LAUNCH_NS;
	return first + step * 100 * (uint64_t)LAUNCH_NS;
}

/* Delivers the pieces `from` to `to` of the graph launch of a step. */
static void deliver_pieces(struct journal_builder *b, uint64_t step, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		struct rec_gpu work = {
			.kind = REC_KERNEL,
			.words = sizeof(work) / 8,
			.begin_ticks = JB_START + graph_step_at(b, step) + (i + 1) * LATENCY_NS,
			.end_ticks = JB_START + graph_step_at(b, step) + (i + 1) * LATENCY_NS + 100,
			.correlation = (uint32_t)step + 1,
			.stream = 7,
			.graph = 1,
			.node = i + 1,
			.name = 1,
		};
		jb_record(b, CUPTI, &work, sizeof(work));
	}
}

static void count_works(void *context, struct ingest *f, struct model_step *m)
{
	(void)f;
	*(size_t *)context += m->works.n;
}

/*
 * CUPTI delivers the work of a graph's launch in several buffers. The step must wait for all of it,
 * although the launch has work already.
 */
static void test_a_step_waits_for_all_work_of_its_graph(void **state)
{
	(void)state;
	struct journal_builder *b = jb_new(64, 8192);
	size_t n_works = 0;
	const struct ingest_sink sink = { .context = &n_works, .step = count_works };
	struct ingest f;
	struct err e;
	jb_thread(b, MAIN, 100, "main");
	jb_thread(b, CUPTI, 101, "cupti");
	jb_string(b, 1, "k");
	jb_kernel(b, 1, 1);
	jb_info(b, "pairing", "order");
	jb_gpu_state(b, MAIN, GPU_ON, graph_step_at(b, 0) - 200, 0);
	for (uint64_t step = 0; step < GRAPH_STEPS; step++) {
		jb_step(b, MAIN, STEP_BEGIN, graph_step_at(b, step) - 90, step, SCHED_RECORD);
		jb_call(b, MAIN, JB_GRAPH, graph_step_at(b, step), 1000, (uint32_t)step + 1, 5);
	}
	jb_step(b, MAIN, STEP_BEGIN, graph_step_at(b, GRAPH_STEPS), GRAPH_STEPS, SCHED_NONE);
	deliver_pieces(b, 0, 0, PIECES_BEFORE);
	jb_write(b, path);
	assert_int_equal(ingest_open(&f, path, true, &sink, &e), 0);
	for (unsigned pass = 0; pass < 3; pass++)
		while (!ingest_read(&f))
			;
	assert_int_equal(n_works, 0);
	deliver_pieces(b, 0, PIECES_BEFORE, PIECES);
	for (uint64_t step = 1; step < GRAPH_STEPS; step++)
		deliver_pieces(b, step, 0, PIECES);
	write_again(b);
	while (!ingest_read(&f))
		;
	ingest_finish(&f, false);
	assert_int_equal(n_works, GRAPH_STEPS * PIECES);
	assert_int_equal(f.counts.late, 0);
	ingest_close(&f);
	jb_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_late_collector_passes_on_steps_while_it_reads),
		cmocka_unit_test(test_only_a_new_chunk_shows_what_has_been_read),
		cmocka_unit_test(test_work_of_a_continued_chunk_waits_for_earlier_work),
		cmocka_unit_test(test_work_of_a_new_chunk_waits_for_earlier_work),
		cmocka_unit_test(test_a_step_waits_for_all_work_of_its_graph),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
