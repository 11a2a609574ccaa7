/*
 * Space that the collector allocates ahead of the library and frees after it: the file's blocks and
 * size, never its content.
 */
#include "core/source/journal/ahead.h"
#include "test/unit/journal_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHUNKS = 256, CHUNK_BYTES = 65536, BACKED = 16 };

static char path[] = "/tmp/test-ahead-XXXXXX";

static struct stat status_now(void)
{
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	return status;
}

/*
 * Writes a journal whose first `n_used` chunks are claimed. After the last of them the file is a
 * hole, as the library leaves it.
 */
static void write_journal(uint32_t n_used, uint32_t backed)
{
	struct journal_builder *b = jb_new(CHUNKS, CHUNK_BYTES);
	for (uint32_t slot = 1; slot <= n_used; slot++)
		jb_call(b, slot, JB_LAUNCH, slot, 1, 1, 7);
	b->header->chunks_backed = backed;
	uint64_t kept = b->header->chunks_offset + (uint64_t)n_used * CHUNK_BYTES;
	size_t size = b->size;
	jb_write(b, path);
	assert_int_equal(truncate(path, (off_t)kept), 0);
	assert_int_equal(truncate(path, (off_t)size), 0);
	jb_free(b);
}

static uint64_t count_calls(void)
{
	struct reader r;
	struct err e;
	struct reader_batch batch;
	uint64_t n = 0;
	assert_int_equal(reader_open(&r, path, false, &e), 0);
	assert_false(r.is_truncated);
	reader_begin_pass(&r);
	while (reader_next_batch(&r, &batch))
		for (const struct rec_head *h; (h = reader_next_record(&r, &batch));)
			n += h->kind == REC_CALL;
	reader_close(&r);
	return n;
}

static blkcnt_t blocks_gained(uint32_t n_used)
{
	struct reader r;
	struct err e;
	struct ahead a = { 0 };
	write_journal(n_used, BACKED);
	blkcnt_t before = status_now().st_blocks;
	assert_int_equal(reader_open(&r, path, true, &e), 0);
	reader_begin_pass(&r);
	ahead_prepare(&a, &r);
	assert_int_equal(r.header->chunks_backed, BACKED); /* that word is the library's */
	if (n_used)
		assert_int_equal(a.touched, BACKED);
	reader_close(&r);
	assert_int_equal(count_calls(), n_used);
	return status_now().st_blocks - before;
}

static void test_space_is_there_before_it_is_needed(void **state)
{
	(void)state;
	/* what was just written may get its own blocks late: a few chunks' worth */
	blkcnt_t grown = 64 * (CHUNK_BYTES / 512);
	assert_true(blocks_gained(0) < grown / 2);
	assert_true(blocks_gained(2) < grown / 2); /* far from the end of what the library has */
	assert_true(blocks_gained(5) >= grown);
}

static void test_a_dead_journal_shrinks(void **state)
{
	(void)state;
	struct err e;
	write_journal(3, CHUNKS);
	assert_int_equal(reader_shrink(path, &e), 0);
	off_t small = status_now().st_size;
	assert_true(small < (CHUNKS - 200) * CHUNK_BYTES);
	assert_int_equal(count_calls(), 3);
	assert_int_equal(reader_shrink(path, &e), 0);
	assert_int_equal(status_now().st_size, small);
	assert_int_equal(count_calls(), 3);
}

static int set_up(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_space_is_there_before_it_is_needed),
		cmocka_unit_test(test_a_dead_journal_shrinks),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
