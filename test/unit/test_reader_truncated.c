/*
 * Journals that are truncated or overwritten while the collector has them mapped. It keeps what it
 * has read, and counts what is lost.
 */
#include "core/source/journal/damage.h"
#include "test/unit/journal_builder.h"
#include "test/unit/journal_path.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { CHUNKS = 16, CHUNK_BYTES = 1024, CALLS = 60 };

/* Opens a live journal with `CALLS` calls of one thread, in several chunks. */
static struct journal_builder *open_live(struct reader *r)
{
	struct journal_builder *b = jb_new(CHUNKS, CHUNK_BYTES);
	struct err e;
	jb_thread(b, 1, 100, "main");
	for (uint32_t i = 0; i < CALLS; i++)
		jb_call(b, 1, JB_LAUNCH, i * 1000, 500, i + 1, 7);
	jb_write(b, path);
	assert_int_equal(reader_open(r, path, true, &e), 0);
	return b;
}

static uint32_t count_calls(struct reader *r)
{
	struct reader_batch batch;
	uint32_t n = 0;
	while (reader_next_dictionary(r, false))
		;
	reader_begin_pass(r);
	while (reader_next_batch(r, &batch))
		for (const struct rec_head *head; (head = reader_next_record(r, &batch));)
			n += head->kind == REC_CALL;
	return n;
}

static void assert_damage(const struct reader *r, const char *wanted)
{
	struct dict d = { 0 };
	char text[DAMAGE_BYTES];
	assert_string_equal(damage_say(text, sizeof(text), r, &d), wanted);
}

static void test_truncated_in_the_records(void **state)
{
	(void)state;
	struct reader r;
	char wanted[DAMAGE_BYTES];
	struct journal_builder *b = open_live(&r);
	uint64_t size = b->header->chunks_offset + CHUNK_BYTES, claims = b->header->chunk_claims;
	assert_true(claims > 2);
	assert_int_equal(truncate(path, (off_t)size), 0);
	assert_int_equal(count_calls(&r), CHUNK_BYTES / sizeof(struct rec_call));
	assert_int_equal(count_calls(&r), 0);
	snprintf(wanted, sizeof(wanted),
		 "the journal was truncated to %llu of %zu bytes during the run: %llu of %llu "
		 "chunks of records are lost",
		 (unsigned long long)size, b->size, (unsigned long long)claims - 1,
		 (unsigned long long)claims);
	assert_damage(&r, wanted);
	reader_close(&r);
	jb_free(b);
}

/* Nothing was read before, and even the page with the header is gone. */
static void test_truncated_to_nothing(void **state)
{
	(void)state;
	struct reader r;
	char wanted[DAMAGE_BYTES];
	struct journal_builder *b = open_live(&r);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(count_calls(&r), 0);
	atomic_store(&r.header->collector, 1); /* a store does no harm, too */
	snprintf(wanted, sizeof(wanted),
		 "the journal was truncated to 0 of %zu bytes during the run: all later records "
		 "are lost",
		 b->size);
	assert_damage(&r, wanted);
	reader_close(&r);
	jb_free(b);
}

/* What was read before stays, and each chunk that is lost counts, also if it was claimed later. */
static void test_truncated_after_a_pass(void **state)
{
	(void)state;
	struct reader r;
	char text[DAMAGE_BYTES];
	struct dict d = { 0 };
	struct journal_builder *b = open_live(&r);
	uint64_t claims = b->header->chunk_claims;
	assert_int_equal(count_calls(&r), CALLS);
	assert_int_equal(truncate(path, 4096), 0);
	assert_damage(&r, "");
	atomic_store(&r.header->chunk_claims, claims + 3);
	assert_int_equal(count_calls(&r), 0);
	snprintf(text, sizeof(text), ": 3 of %llu chunks of records are lost",
		 (unsigned long long)claims + 3);
	char damage[DAMAGE_BYTES];
	assert_non_null(strstr(damage_say(damage, sizeof(damage), &r, &d), text));
	reader_close(&r);
	jb_free(b);
}

/* Each of two journals is protected, in whichever order they are closed. */
static void test_two_journals(void **state)
{
	(void)state;
	struct reader first, second;
	struct journal_builder *a = open_live(&first), *b = open_live(&second);
	reader_close(&first);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(count_calls(&second), 0);
	assert_true(second.is_truncated);
	reader_close(&second);
	jb_free(a);
	jb_free(b);
}

/* A wild store of the application changes the layout after the journal was opened. */
static void test_an_overwritten_layout_is_ignored(void **state)
{
	(void)state;
	struct reader r;
	struct journal_builder *b = open_live(&r);
	struct journal_header *h = r.header;
	h->chunk_bytes = UINT32_MAX;
	h->n_chunks = UINT32_MAX;
	h->chunks_offset = 8;
	h->directory_offset = h->dictionary_offset = UINT64_MAX;
	h->dictionary_bytes = UINT64_MAX;
	assert_int_equal(count_calls(&r), CALLS);
	assert_int_equal(r.n_damaged, 0);
	reader_close(&r);
	jb_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_truncated_in_the_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_truncated_to_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_truncated_after_a_pass, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_two_journals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_overwritten_layout_is_ignored, set_up,
						tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
