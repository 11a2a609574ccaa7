/*
 * Reads a journal that was full for long, as the collector does. What the reader holds must not
 * grow with the load, although chunks begin with marks of dropped records.
 */
#include "test/unit/journal_ingest.h"

enum {
	STEPS = 40,
	CALLS = 1000,
	STEP_NS = 1000000000,
	/* room for exactly one step: the mark of dropped records, the step's mark, and its calls */
	CHUNK_BYTES = sizeof(struct rec_dropped) + sizeof(struct rec_step) +
		      CALLS * sizeof(struct rec_call),
	MAIN = 1,
	CUPTI = 2,
	/* launches that are all alike, by four in a step; 1 ms apart, so that nothing times out */
	LAUNCHES = 20000,
	LAUNCHES_PER_STEP = 4,
	LAUNCH_NS = 1000000,
	LATENCY_NS = 5000,
	LATE_LAUNCHES = 300, /* CUPTI delivers work after this many further launches */
};

struct seen {
	size_t n_steps;
};

static void look_at(void *context, struct ingest *f, struct model_step *m)
{
	struct seen *seen = context;
	(void)f;
	(void)m;
	seen->n_steps++;
}

static void open_live(struct ingest *f, const struct journal_builder *b, struct seen *seen)
{
	const struct ingest_sink sink = { .context = seen, .step = look_at };
	struct err e;
	jb_write(b, path);
	assert_int_equal(ingest_open(f, path, true, &sink, &e), 0);
}

/* Reads everything. Returns the highest number of calls held after a slice. */
static uint64_t read_and_count_held(struct ingest *f)
{
	uint64_t most = 0;
	for (bool is_whole = false; !is_whole;) {
		is_whole = ingest_read(f);
		most = f->n_pending > most ? f->n_pending : most;
	}
	return most;
}

/* Such a chunk shows like any other what has been read, so steps are passed on within a pass. */
static void test_chunks_that_begin_with_dropped_records(void **state)
{
	(void)state;
	struct journal_builder *b = jb_new(64, CHUNK_BYTES);
	struct seen seen = { 0 };
	struct ingest f;
	uint32_t seq = 0;
	jb_thread(b, MAIN, 100, "main");
	for (uint64_t step = 0; step <= STEPS; step++) {
		uint64_t at = 10 + step * STEP_NS;
		jb_dropped(b, MAIN, 1, at - 9, at - 1);
		jb_step(b, MAIN, STEP_BEGIN, at, step + 1, SCHED_RECORD);
		for (uint64_t i = 0; i < CALLS; i++)
			jb_call(b, MAIN, JB_SYNC, at + 100 + i * 1000, 500, ++seq, 0);
	}
	open_live(&f, b, &seen);
	assert_true(read_and_count_held(&f) < (uint64_t)STEPS * CALLS / 3);
	assert_int_equal(seen.n_steps, STEPS);
	ingest_close(&f);
	jb_free(b);
}

/* ---- Calls and GPU work that were dropped ---- */

struct pairs {
	size_t n_steps, n_right, n_wrong;
};

static void check_pairs(void *context, struct ingest *f, struct model_step *m)
{
	struct pairs *pairs = context;
	(void)f;
	pairs->n_steps++;
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		if (w->call == MODEL_NO_CALL)
			continue;
		bool is_right = m->calls.at[w->call].begin_ns + LATENCY_NS == w->begin_ns;
		pairs->n_right += is_right;
		pairs->n_wrong += !is_right;
	}
}

static uint64_t launch_at(uint64_t i)
{
	return 1000 + i * LAUNCH_NS;
}

/* The thread finds no room for the last 300 of every 1,000 calls. */
static bool has_call(uint64_t i)
{
	return i % 1000 < 700;
}

/* And CUPTI's thread for 300 of every 900 pieces of work. */
static bool has_work(uint64_t i)
{
	return i % 900 < 250 || i % 900 >= 550;
}

static struct journal_builder *begin_journal(void)
{
	struct journal_builder *b = jb_new(512, 8192);
	jb_thread(b, MAIN, 100, "main");
	jb_thread(b, CUPTI, 101, "cupti");
	jb_string(b, 1, "k");
	jb_kernel(b, 1, 1);
	jb_info(b, "pairing", "order");
	return b;
}

static void write_launch(struct journal_builder *b, uint64_t i)
{
	if (!has_call(i))
		return;
	if (i && !has_call(i - 1))
		jb_dropped(b, MAIN, 300 + 300 / LAUNCHES_PER_STEP, launch_at(i - 300),
			   launch_at(i - 1));
	if (i % LAUNCHES_PER_STEP == 0)
		jb_step(b, MAIN, STEP_BEGIN, launch_at(i) - 90, i / LAUNCHES_PER_STEP,
			SCHED_RECORD);
	jb_call(b, MAIN, JB_LAUNCH, launch_at(i), 1000, (uint32_t)i + 1, 7);
}

static void write_work(struct journal_builder *b, uint64_t i)
{
	uint32_t id = 10 + (uint32_t)i;
	if (!has_work(i))
		return;
	if (i && !has_work(i - 1)) {
		const struct rec_gpu_state dropped = { .kind = REC_GPU_STATE,
						       .words = sizeof(dropped) / 8,
						       .state = GPU_DROPPED,
						       .first_id = id - 300,
						       .ticks = JB_START + launch_at(i),
						       .detail = (uint64_t)(id - 1) << 32 | 300 };
		jb_dropped(b, CUPTI, 300, launch_at(i - 300), launch_at(i - 1));
		jb_record(b, CUPTI, &dropped, sizeof(dropped));
	}
	jb_work(b, CUPTI, REC_KERNEL, 1, launch_at(i) + LATENCY_NS, 3000, id, 7);
}

/*
 * The GPU work of some recorded calls was dropped, and recorded work is that of dropped calls. All
 * other work is paired, and no step waits for what was dropped.
 */
static void test_dropped_work_is_known(void **state)
{
	(void)state;
	struct journal_builder *b = begin_journal();
	struct pairs pairs = { 0 };
	const struct ingest_sink sink = { .context = &pairs, .step = check_pairs };
	struct ingest f;
	struct err e;
	size_t n_both = 0, n_before = 0;
	jb_gpu_state(b, MAIN, GPU_ON, 100, 0);
	for (uint64_t i = 0; i < LAUNCHES + LATE_LAUNCHES; i++) {
		if (i < LAUNCHES)
			write_launch(b, i);
		if (i >= LATE_LAUNCHES)
			write_work(b, i - LATE_LAUNCHES);
		n_both += i < LAUNCHES && has_call(i) && has_work(i);
	}
	jb_write(b, path);
	assert_int_equal(ingest_open(&f, path, true, &sink, &e), 0);
	/* when the journal has been read as far as now, the time for which steps wait is over */
	for (bool is_whole = false; !is_whole;) {
		n_before = pairs.n_steps;
		is_whole = ingest_read(&f);
	}
	assert_true(n_before > LAUNCHES * 7 / 10 / LAUNCHES_PER_STEP / 2);
	ingest_finish(&f, false);
	assert_int_equal(pairs.n_wrong, 0);
	assert_int_equal(pairs.n_right, n_both);
	ingest_close(&f);
	jb_free(b);
}

/*
 * The begin was overwritten, with the record that GPU timing began. The first GPU records are those
 * of earlier calls. What was launched after the first wait is paired, and nothing else.
 */
static void test_the_rest_of_a_journal(void **state)
{
	(void)state;
	struct journal_builder *b = begin_journal();
	struct pairs pairs = { 0 };
	const struct ingest_sink sink = { .context = &pairs, .step = check_pairs };
	struct ingest f;
	enum { N = 2000, WAIT_AT = 500 };
	for (uint64_t i = LATE_LAUNCHES; i < N; i++) {
		if (i % LAUNCHES_PER_STEP == 0)
			jb_step(b, MAIN, STEP_BEGIN, launch_at(i) - 90, i / LAUNCHES_PER_STEP,
				SCHED_RECORD);
		if (i == WAIT_AT)
			jb_call(b, MAIN, JB_SYNC, launch_at(i) - 80, 50, 0, 0);
		jb_call(b, MAIN, JB_LAUNCH, launch_at(i), 1000, (uint32_t)i + 1, 7);
		/* until the wait, this is the work of the call 100 launches before */
		if (i < WAIT_AT - 100)
			jb_work(b, CUPTI, REC_KERNEL, 1, launch_at(i) + LATENCY_NS, 3000,
				(uint32_t)i - 90, 7);
		if (i >= WAIT_AT)
			jb_work(b, CUPTI, REC_KERNEL, 1, launch_at(i) + LATENCY_NS, 3000,
				(uint32_t)i + 10, 7);
	}
	atomic_fetch_add(&b->header->chunk_claims, 7);
	ingest_written(&f, b, &sink, false);
	assert_int_equal(pairs.n_wrong, 0);
	assert_int_equal(pairs.n_right, N - WAIT_AT);
	ingest_close(&f);
	jb_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunks_that_begin_with_dropped_records),
		cmocka_unit_test(test_dropped_work_is_known),
		cmocka_unit_test(test_the_rest_of_a_journal),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
