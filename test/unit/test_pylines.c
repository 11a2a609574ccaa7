/*
 * Lines from CPython's three kinds of line tables. The tables and the expected lines come from
 * interpreters 3.9.18, 3.10.13 and 3.11.7 (co_lnotab or co_linetable, and dis or co_lines()) for
 * one function with multi-line calls, a loop and a finally. Damaged tables lie right before a page
 * that cannot be read.
 */
#include "core/source/journal/pylines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define FIRST 10u

static const uint8_t lnotab[] = {
	0x00, 0x02, 0x02, 0x01, 0x04, 0x01, 0x02, 0xff, 0x02, 0xff, 0x04, 0x03, 0x08,
	0x01, 0x06, 0x01, 0x0a, 0x02, 0x02, 0x01, 0x04, 0x02, 0x02, 0x01, 0x02, 0xff,
	0x04, 0xfe, 0x02, 0x02, 0x00, 0x01, 0x00, 0xff, 0x02, 0x01, 0x02, 0xff,
};
static const uint8_t lnotab_lines[] = { 12, 13, 13, 14, 13, 12, 12, 15, 15, 15, 15, 16,
					16, 16, 17, 17, 17, 17, 17, 19, 20, 20, 22, 23,
					22, 22, 20, 22, 23, 22, 22, 22, 22, 22 };

static const uint8_t table_310[] = {
	0x02, 0x02, 0x04, 0x01, 0x02, 0x01, 0x02, 0xff, 0x04, 0xff, 0x08, 0x03, 0x06, 0x01, 0x0a,
	0x01, 0x02, 0x02, 0x04, 0x01, 0x02, 0x02, 0x02, 0x01, 0x08, 0xff, 0x02, 0x01, 0x06, 0xff,
};
static const uint8_t lines_310[] = {
	12, 13, 13, 14, 13, 12, 12, 15, 15, 15, 15, 16, 16, 16, 17, 17,
	17, 17, 17, 19, 20, 20, 22, 23, 22, 22, 22, 22, 23, 22, 22, 22
};

static const uint8_t table_311[] = {
	0x80, 0x00, 0xe0, 0x09, 0x0a, 0xd8, 0x09, 0x0a, 0x88, 0x11, 0x88, 0x31, 0xd8, 0x0b, 0x0c,
	0xf1, 0x03, 0x01, 0x0a, 0x0e, 0xf4, 0x00, 0x01, 0x0a, 0x0e, 0xf1, 0x03, 0x02, 0x0a, 0x0e,
	0x80, 0x41, 0xf0, 0x06, 0x00, 0x0e, 0x0f, 0xf0, 0x00, 0x02, 0x05, 0x0f, 0xf0, 0x00, 0x02,
	0x05, 0x0f, 0x88, 0x01, 0xd8, 0x0b, 0x0c, 0x88, 0x0e, 0x88, 0x68, 0xd8, 0x08, 0x09, 0x88,
	0x51, 0x89, 0x06, 0x88, 0x01, 0x88, 0x01, 0xf0, 0x04, 0x04, 0x05, 0x0d, 0xd8, 0x0f, 0x10,
	0xe0, 0x08, 0x09, 0x88, 0x01, 0xd8, 0x0a, 0x0b, 0xf1, 0x03, 0x01, 0x09, 0x0d, 0xf4, 0x00,
	0x01, 0x09, 0x0d, 0xf0, 0x00, 0x01, 0x09, 0x0d, 0xf0, 0x00, 0x01, 0x09, 0x0d, 0xf8, 0x88,
	0x01, 0x88, 0x01, 0xd8, 0x0a, 0x0b, 0xf1, 0x03, 0x01, 0x09, 0x0d, 0xf4, 0x00, 0x01, 0x09,
	0x0d, 0xf0, 0x00, 0x01, 0x09, 0x0d, 0xf0, 0x00, 0x01, 0x09, 0x0d, 0xf8, 0xf8, 0xf8,
};
/* 10 stands for instructions without a line too */
static const uint8_t lines_311[] = { 10, 12, 13, 13, 13, 14, 13, 13, 13, 13, 13, 13, 13, 12, 12,
				     12, 15, 15, 15, 15, 16, 16, 16, 17, 17, 17, 17, 17, 17, 19,
				     20, 22, 22, 23, 22, 22, 22, 22, 22, 22, 22, 22, 22, 10, 22,
				     22, 23, 22, 22, 22, 22, 22, 22, 22, 22, 22, 10, 10, 10 };

static const struct sample {
	enum line_table kind;
	const uint8_t *table;
	size_t bytes;
	const uint8_t *lines;
	uint32_t n_lines;
} samples[] = {
	{ LINES_LNOTAB, lnotab, sizeof(lnotab), lnotab_lines, sizeof(lnotab_lines) },
	{ LINES_310, table_310, sizeof(table_310), lines_310, sizeof(lines_310) },
	{ LINES_311, table_311, sizeof(table_311), lines_311, sizeof(lines_311) },
};
enum { SAMPLES = sizeof(samples) / sizeof(*samples) };

static uint32_t line_of(const struct sample *s, uint32_t lasti)
{
	return pylines_line(s->kind, s->table, s->bytes, FIRST, lasti);
}

static void test_every_instruction_has_its_line(void **state)
{
	(void)state;
	for (int i = 0; i < SAMPLES; i++)
		for (uint32_t unit = 0; unit < samples[i].n_lines; unit++)
			assert_int_equal(line_of(&samples[i], 2 * unit), samples[i].lines[unit]);
}

static void test_what_is_not_known_is_the_first_line(void **state)
{
	(void)state;
	for (int i = 0; i < SAMPLES; i++) {
		assert_int_equal(line_of(&samples[i], FRAME_LASTI_UNKNOWN), FIRST);
		assert_int_equal(pylines_line(samples[i].kind, samples[i].table, 0, FIRST, 4),
				 FIRST);
	}
	assert_int_equal(line_of(&samples[1], 2 * sizeof(lines_310)), FIRST);
	assert_int_equal(line_of(&samples[2], 2 * sizeof(lines_311)), FIRST);
	assert_int_equal(pylines_line(LINES_NONE, table_311, sizeof(table_311), FIRST, 4), FIRST);
	assert_int_equal(pylines_line(LINES_310, (const uint8_t[]){ 4, 0x80 }, 2, FIRST, 0), FIRST);
}

static void test_far_lines(void **state)
{
	/* 13: a step of +100,000 in three sixes and a byte; then -99,999 */
	static const uint8_t far[] = { 0xe8, 0x40, 0x75, 0x30, 0xe8, 0x7f, 0x74, 0x30 };
	(void)state;
	assert_int_equal(pylines_line(LINES_311, far, sizeof(far), FIRST, 0),
			 FIRST + (0x0u | 0x35u << 6 | 0x30u << 12) / 2);
	assert_int_equal(pylines_line(LINES_311, far, sizeof(far), FIRST, 2),
			 FIRST + (0x35u << 6 | 0x30u << 12) / 2 -
				 (0x3fu | 0x34u << 6 | 0x30u << 12) / 2);
	/* before line 0 there is nothing */
	assert_int_equal(pylines_line(LINES_311, (const uint8_t[]){ 0xe8, 0x3f }, 2, FIRST, 0),
			 FIRST);
}

/* xorshift; a fixed seed, so that a failure comes again */
static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void test_damaged_tables(void **state)
{
	(void)state;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *room =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(room, MAP_FAILED);
	assert_int_equal(mprotect(room + page, page, PROT_NONE), 0);
	uint64_t seed = 88172645463325252ull;
	for (int round = 0; round < 60000; round++) {
		const struct sample *s = &samples[round % SAMPLES];
		size_t bytes = next_random(&seed) % (s->bytes + 1);
		uint8_t *table = room + page - bytes;
		memcpy(table, s->table, bytes);
		for (uint64_t n = next_random(&seed) % 6; bytes && n; n--)
			table[next_random(&seed) % bytes] = (uint8_t)next_random(&seed);
		uint32_t lasti = (uint32_t)(next_random(&seed) % 300);
		uint32_t line = pylines_line(s->kind, table, bytes, FIRST, lasti);
		assert_in_range(line, 0, INT32_MAX);
	}
	munmap(room, 2 * page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_instruction_has_its_line),
		cmocka_unit_test(test_what_is_not_known_is_the_first_line),
		cmocka_unit_test(test_far_lines),
		cmocka_unit_test(test_damaged_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
