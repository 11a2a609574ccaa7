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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunks_that_begin_with_dropped_records),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
