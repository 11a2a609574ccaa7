/*
 * Reads a journal that was full for long, as the collector does. What the reader holds must not
 * grow with the load, although records are missing and chunks begin with marks of dropped records.
 */
#include "core/runtime/clock.h"
#include "core/util/memory_limit.h"
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
};

struct seen {
	size_t n_steps, n_calls, n_right, n_wrong;
};

/* Each piece of work must be paired with the call that has the same place in time. */
enum { LATENCY_NS = 5000 };

static void look_at(void *context, struct ingest *f, struct model_step *m)
{
	struct seen *seen = context;
	(void)f;
	seen->n_steps++;
	seen->n_calls += m->calls.n;
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		bool is_right = w->call != MODEL_NO_CALL &&
				m->calls.at[w->call].begin_ns + LATENCY_NS == w->begin_ns;
		seen->n_right += is_right;
		seen->n_wrong += !is_right;
	}
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

enum {
	LAUNCHES = 40000,
	LAUNCHES_PER_STEP = 50,
	LAUNCH_NS = 100000,
	MISSING = 60,	  /* the launch whose work was dropped */
	LAG = 20,	  /* launches between a launch and the delivery of its work */
	LIMIT_MB = 4,	  /* a sixteenth holds 2,048 launches with their work */
	MOST_HELD = 6000, /* as many, the 2,000 of the last 200 ms, and those of a slice */
};

/* The last launch was a second ago, so nothing shows that the missing work will not come. */
static struct journal_builder *run_with_missing_work(void)
{
	struct journal_builder *b = jb_new(256, 65536);
	uint64_t first = clock_ticks(b->header->clock.kind) - JB_START -
			 (LAUNCHES + 10000) * (uint64_t)LAUNCH_NS;
	jb_thread(b, MAIN, 100, "main");
	jb_thread(b, CUPTI, 101, "cupti");
	jb_string(b, 1, "k");
	jb_kernel(b, 1, 1);
	jb_gpu_state(b, MAIN, GPU_ON, first - 100, 0);
	for (uint64_t i = 0; i < LAUNCHES + LAG; i++) {
		uint64_t at = first + i * LAUNCH_NS, done = i - LAG;
		if (i % LAUNCHES_PER_STEP == 0)
			jb_step(b, MAIN, STEP_BEGIN, at - 90, i / LAUNCHES_PER_STEP, SCHED_RECORD);
		if (i < LAUNCHES) {
			jb_call(b, MAIN, JB_LAUNCH, at, 1000, (uint32_t)i + 1, 7);
			jb_external(b, MAIN, (uint32_t)i + 1, MAIN, (uint32_t)i + 1);
		}
		if (i >= LAG && done != MISSING)
			jb_work(b, CUPTI, REC_KERNEL, 1, first + done * LAUNCH_NS + LATENCY_NS,
				3000, (uint32_t)done + 1, 7);
	}
	return b;
}

/* The step of the missing work holds up all later steps until too much is held. */
static void test_steps_do_not_wait_if_too_much_is_held(void **state)
{
	(void)state;
	for (int is_limited = 0; is_limited < 2; is_limited++) {
		struct journal_builder *b = run_with_missing_work();
		struct seen seen = { 0 };
		struct ingest f;
		memory_limit_set(is_limited ? LIMIT_MB << 20 : 0);
		open_live(&f, b, &seen);
		uint64_t most = read_and_count_held(&f);
		assert_true(is_limited ? most < MOST_HELD : most > LAUNCHES / 2);
		ingest_finish(&f, false);
		assert_int_equal(seen.n_calls, LAUNCHES);
		assert_int_equal(seen.n_wrong, 0);
		assert_int_equal(seen.n_right, LAUNCHES - 1);
		assert_int_equal(f.counts.calls_without_work, 1);
		assert_int_equal(f.counts.late, 0);
		ingest_close(&f);
		jb_free(b);
	}
	memory_limit_set(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunks_that_begin_with_dropped_records),
		cmocka_unit_test(test_steps_do_not_wait_if_too_much_is_held),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
