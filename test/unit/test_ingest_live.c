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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_late_collector_passes_on_steps_while_it_reads),
		cmocka_unit_test(test_only_a_new_chunk_shows_what_has_been_read),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
