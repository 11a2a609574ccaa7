/*
 * The reader on good journals, on journals cut at every byte, and on journals with random damage.
 */
#include "core/source/journal/dict.h"
#include "core/source/journal/reader.h"
#include "test/unit/journal_builder.h"
#include "test/unit/journal_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

/* Two threads whose calls alternate, over several chunks each. */
static struct journal_builder *example(uint32_t n_calls)
{
	struct journal_builder *b = jb_new(16, 1024);
	jb_info(b, "host", "testhost");
	jb_thread(b, 1, 100, "main");
	jb_thread(b, 2, 101, "worker");
	jb_string(b, 1, "_Z6kernelPf");
	for (uint32_t i = 0; i < n_calls; i++)
		jb_call(b, 1 + i % 2, JB_LAUNCH, i * 1000, 500, i / 2 + 1, 7);
	jb_end(b, n_calls * 1000);
	return b;
}

static void open_written(struct reader *r, const struct journal_builder *b)
{
	struct err e;
	jb_write(b, path);
	assert_int_equal(reader_open(r, path, false, &e), 0);
}

struct tally {
	uint32_t n[3], last_seq[3];
	uint64_t n_dictionary;
	bool in_order;
};

static struct tally read_everything(struct reader *r)
{
	struct tally t = { .in_order = true };
	struct reader_batch batch;
	const struct rec_head *head;
	while (reader_next_dictionary(r, true))
		t.n_dictionary++;
	reader_begin_pass(r);
	while (reader_next_batch(r, &batch)) {
		while ((head = reader_next_record(r, &batch))) {
			if (head->kind != REC_CALL || batch.thread > 2)
				continue;
			const struct rec_call *c = (const struct rec_call *)head;
			t.in_order &= c->seq == t.last_seq[batch.thread] + 1;
			t.last_seq[batch.thread] = c->seq;
			t.n[batch.thread]++;
		}
	}
	return t;
}

static void test_reads_every_record_in_order(void **state)
{
	(void)state;
	struct journal_builder *b = example(200);
	struct reader r;
	open_written(&r, b);
	struct tally t = read_everything(&r);
	assert_int_equal(t.n[1], 100);
	assert_int_equal(t.n[2], 100);
	assert_true(t.in_order);
	assert_int_equal(t.n_dictionary, 10 + 4);
	assert_int_equal(r.n_damaged, 0);
	assert_false(r.is_truncated);
	reader_close(&r);
	jb_free(b);
}

static void test_follows_a_growing_journal(void **state)
{
	(void)state;
	struct journal_builder *b = example(0);
	struct reader r;
	struct err e;
	uint32_t total = 0;
	jb_write(b, path);
	assert_int_equal(reader_open(&r, path, true, &e), 0);
	for (uint32_t i = 0; i < 150; i++) {
		jb_call(b, 1, JB_LAUNCH, i * 10, 5, i + 1, 7);
		/* as the library does it: data, then the directory, through the same file */
		assert_int_equal(pwrite(r.fd, b->bytes, b->size, 0), (ssize_t)b->size);
		if (i % 3)
			continue;
		total += read_everything(&r).n[1];
		assert_int_equal(total, i + 1);
	}
	total += read_everything(&r).n[1];
	assert_int_equal(total, 150);
	assert_true(r.finished.n > 3);
	uint32_t free_before = reader_count_free(&r);
	reader_free_chunk(&r, r.finished.at[0].index);
	assert_int_equal(reader_count_free(&r), free_before + 1);
	reader_close(&r);
	jb_free(b);
}

static void write_cut(const struct journal_builder *b, size_t bytes)
{
	struct journal_builder cut = *b;
	cut.size = bytes;
	jb_write(&cut, path);
}

/* Every length: an error in words, or a shorter stream that is in order. */
static void test_cut_at_every_byte(void **state)
{
	(void)state;
	struct journal_builder *b = example(60);
	uint32_t most = 0;
	size_t data = b->header->chunks_offset;
	for (size_t bytes = 0; bytes <= b->size;
	     bytes += bytes < data && bytes > 4096 && bytes + 600 < data ? 512 : 1) {
		struct reader r;
		struct err e = { "" };
		write_cut(b, bytes);
		if (reader_open(&r, path, false, &e)) {
			assert_true(bytes < sizeof(struct journal_header));
			assert_non_null(strstr(e.text, path));
			continue;
		}
		struct tally t = read_everything(&r);
		assert_true(t.in_order);
		assert_true(t.n[1] + t.n[2] <= 60);
		most = t.n[1] + t.n[2];
		reader_close(&r);
	}
	assert_int_equal(most, 60);
	jb_free(b);
}

static void refuse(const char *why)
{
	struct reader r;
	struct err e = { "" };
	assert_int_not_equal(reader_open(&r, path, false, &e), 0);
	assert_non_null(strstr(e.text, path));
	assert_non_null(strstr(e.text, why));
	assert_null(strchr(e.text, '\n'));
}

static void test_refuses_what_is_no_journal(void **state)
{
	(void)state;
	struct journal_builder *b = example(4);
	b->header->version = 99;
	jb_write(b, path);
	refuse("version 99");
	b->header->version = JOURNAL_VERSION;
	b->header->call_bytes = 40;
	jb_write(b, path);
	refuse("record sizes");
	b->header->call_bytes = sizeof(struct rec_call);
	b->header->dictionary_offset = ~0ull << 3;
	jb_write(b, path);
	refuse("damaged");
	memcpy(b->bytes,
	       "\x7f"
	       "ELF",
	       4);
	jb_write(b, path);
	refuse("not a journal");
	unlink(path);
	refuse("cannot open");
	jb_free(b);
}

/*
 * 4,000 files with up to 20 bytes changed each: any answer but a crash, and never more records than
 * bytes allow.
 */
static void test_survives_random_damage(void **state)
{
	(void)state;
	struct journal_builder *b = example(100);
	uint8_t *good = mem_resize(NULL, b->size);
	memcpy(good, b->bytes, b->size);
	srand(20261121);
	for (int round = 0; round < 4000; round++) {
		struct reader r;
		struct err e;
		size_t reach = round % 2
				       ? b->size
				       : 4096; /* every second one hits the header and directory */
		for (int i = rand() % 20; i >= 0; i--)
			b->bytes[(size_t)rand() % reach] = (uint8_t)rand();
		jb_write(b, path);
		memcpy(b->bytes, good, b->size);
		if (reader_open(&r, path, false, &e))
			continue;
		struct dict d = { 0 };
		const struct dict_head *record;
		while ((record = reader_next_dictionary(&r, true)))
			dict_add(&d, record);
		struct tally t = read_everything(&r);
		assert_true(t.n[1] + t.n[2] <= b->size / sizeof(struct rec_call));
		dict_free(&d);
		reader_close(&r);
	}
	free(good);
	jb_free(b);
}

/*
 * Records of one journal with a flipped bit each: exactly those that a run cannot have written are
 * left out.
 */
static void test_leaves_out_impossible_records(void **state)
{
	(void)state;
	static const struct {
		uint64_t begin, length;
		bool is_left_out;
	} works[] = {
		{ 1000, 500, false },
		{ 0, 0, false },
		{ 1ull << 40, 500, true },
		{ 1000, 1ull << 40, true },
		{ 5000, (uint64_t)-1, true },	    /* it ends before it begins */
		{ (uint64_t)-900000000, 5, false }, /* a clock that is a little ahead */
	};
	for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++) {
		struct journal_builder *b = example(20);
		struct reader r;
		uint64_t n = 0;
		jb_work(b, 1, REC_KERNEL, 1, works[i].begin, works[i].length, 1, 7);
		open_written(&r, b);
		n = read_everything(&r).n[1];
		assert_int_equal(n, 10);
		assert_int_equal(r.n_impossible, works[i].is_left_out);
		reader_close(&r);
		jb_free(b);
	}
}

/* Threads may outlive main(): ten minutes of their calls are kept. */
static void test_calls_after_the_noted_end_are_kept(void **state)
{
	(void)state;
	struct journal_builder *b = example(20);
	struct reader r;
	jb_call(b, 1, JB_LAUNCH, 590ull * 1000000000, 500, 11, 7);
	jb_call(b, 1, JB_LAUNCH, 700ull * 1000000000, 500, 12, 7);
	open_written(&r, b);
	assert_int_equal(read_everything(&r).n[1], 11);
	assert_int_equal(r.n_impossible, 1);
	reader_close(&r);
	jb_free(b);
}

/* A writer killed between taking room in the dictionary and naming what it wrote. */
static void test_steps_over_a_torn_dictionary_record(void **state)
{
	(void)state;
	struct journal_builder *b = example(0);
	struct reader r;
	memset(b->bytes + b->header->dictionary_offset, 0, 8);
	open_written(&r, b);
	assert_null(reader_next_dictionary(&r, false));
	int n = 0;
	while (reader_next_dictionary(&r, true))
		n++;
	assert_int_equal(n, 10 + 4 - 1);
	reader_close(&r);
	jb_free(b);
}

/* Line tables, bytecode and exception tables are kept. A record that claims more than it has is
 * damaged. */
static void test_code_objects(void **state)
{
	(void)state;
	struct {
		struct dict_code head;
		uint8_t tail[8];
	} record = { .head = { .head = { DICT_MARK, DICT_CODE, sizeof(record) },
			       .lines = LINES_LNOTAB,
			       .table_bytes = 2,
			       .bytecode_bytes = 4,
			       .exceptions_bytes = 2,
			       .python = 0x30b },
		     .tail = { 0, 1, 9, 0, 83, 0, 0x80, 7 } };
	struct dict d = { 0 };
	for (record.head.id = 1; record.head.id < 3; record.head.id++)
		dict_add(&d, &record.head.head);
	const struct code_entry *code = dict_code(&d, 2);
	assert_non_null(code);
	assert_int_equal(code->python, 0x30b);
	assert_int_equal(code->bytecode_bytes, 4);
	assert_memory_equal(d.tables.at + code->table, "\0\1", 2);
	assert_memory_equal(d.tables.at + code->bytecode, "\x09\0\x53\0\x80\x07", 6);
	assert_int_equal(code->exceptions_bytes, 2);
	assert_int_equal(d.n_damaged, 0);
	record.head.bytecode_bytes = 5;
	dict_add(&d, &record.head.head);
	record.head.bytecode_bytes = UINT32_MAX;
	dict_add(&d, &record.head.head);
	assert_int_equal(d.n_damaged, 2);
	assert_null(dict_code(&d, 3));
	dict_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_every_record_in_order),
		cmocka_unit_test(test_follows_a_growing_journal),
		cmocka_unit_test(test_cut_at_every_byte),
		cmocka_unit_test(test_refuses_what_is_no_journal),
		cmocka_unit_test(test_survives_random_damage),
		cmocka_unit_test(test_code_objects),
		cmocka_unit_test(test_leaves_out_impossible_records),
		cmocka_unit_test(test_calls_after_the_noted_end_are_kept),
		cmocka_unit_test(test_steps_over_a_torn_dictionary_record),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
