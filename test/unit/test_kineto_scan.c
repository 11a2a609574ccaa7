/* core/source/kineto/scan.c and event.c: JSON of any form, read from a file. */
#include "core/source/kineto/event.h"
#include "core/source/kineto/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct reading {
	struct bytes *bytes;
	struct scan *scan;
};

static struct reading open_text(const char *text, size_t n)
{
	char path[] = "/tmp/scan-XXXXXX";
	struct reading r = { .scan = malloc(sizeof(*r.scan)) };
	struct err e;
	int fd = mkstemp(path);
	assert_int_equal(write(fd, text, n), n);
	close(fd);
	assert_int_equal(bytes_open(&r.bytes, path, &e), 0);
	unlink(path);
	scan_start(r.scan, r.bytes);
	return r;
}

static void close_text(struct reading *r)
{
	bytes_close(r->bytes);
	free(r->scan);
}

static void test_numbers_with_three_decimals_are_exact(void **state)
{
	static const struct {
		const char *text;
		bool is_read;
		int64_t value;
	} cases[] = {
		{ "1", true, 1000 },
		{ "88511388202.755", true, 88511388202755 },
		{ "1694039968955744", true, 1694039968955744000 },
		{ "-0.5", true, -500 },
		{ "0.0009", true, 0 },
		{ "1e3", true, 1000000 },
		{ "\"12.5\"", true, 12500 },
		{ "1e300", false, 0 },
		{ "99999999999999999999", false, 0 },
		{ "\"\"", false, 0 },
		{ "null", false, 0 },
		{ "[1]", false, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct reading r = open_text(cases[i].text, strlen(cases[i].text));
		int64_t value = 0;
		assert_int_equal(scan_thousandths(r.scan, &value), cases[i].is_read);
		assert_int_equal(value, cases[i].value);
		close_text(&r);
	}
}

static void test_texts_are_valid_utf8_without_a_0_byte(void **state)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{ "\"a\\n\\\"b\\/\"", "a\n\"b/" },
		{ "\"\\u00e9\\u20ac\"", "\303\251\342\202\254" },
		{ "\"\\ud83d\\ude00\"", "\360\237\230\200" },
		{ "\"\\ud83d!\"", "\357\277\275!" },
		{ "\"\\u0000\"", "\357\277\275" },
		{ "\"a\xff\x80z\"", "a??z" },
		{ "17.25", "17.25" },
		{ "{\"a\": [1, {}]}", "" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct reading r = open_text(cases[i].text, strlen(cases[i].text));
		assert_true(scan_text(r.scan));
		assert_string_equal(r.scan->text, cases[i].value);
		assert_string_equal(scan_trouble(r.scan), "");
		close_text(&r);
	}
}

/* The longest name of a text is kept, and reading goes on after it, across several blocks. */
static void test_a_text_of_megabytes_is_cut_and_passed(void **state)
{
	size_t n = 5 << 20;
	char *text = malloc(n);
	(void)state;
	memset(text, 'x', n);
	memcpy(text, "[\"", 2);
	memcpy(text + n - 6, "\", 42]", 6);
	struct reading r = open_text(text, n);
	assert_true(scan_enter(r.scan, '['));
	assert_true(scan_item(r.scan));
	assert_true(scan_text(r.scan));
	assert_int_equal(r.scan->n_text, SCAN_TEXT_BYTES);
	assert_true(scan_item(r.scan));
	assert_int_equal(scan_integer(r.scan, -1), 42);
	assert_false(scan_item(r.scan));
	close_text(&r);
	free(text);
}

/* Nesting of a million levels needs no stack. */
static void test_deep_nesting_is_skipped(void **state)
{
	size_t n = 1 << 20;
	char *text = malloc(2 * n + 3);
	(void)state;
	memset(text, '[', n);
	memset(text + n, ']', n);
	memcpy(text + 2 * n, " 7", 3);
	struct reading r = open_text(text, 2 * n + 2);
	scan_skip(r.scan);
	assert_int_equal(scan_integer(r.scan, -1), 7);
	close_text(&r);
	free(text);
}

static void test_an_error_says_what_and_where(void **state)
{
	static const struct {
		const char *text, *trouble;
	} cases[] = {
		{ "{\"a\": 1", "the file ends early at byte 7" },
		{ "{\"a\" 1}", "'1' instead of ':' at byte 5" },
		{ "{a}", "'a' instead of a key or '}' at byte 1" },
		{ "{\"a\": \"\\q\"}", "'q' instead of an escape at byte 8" },
		{ "{\"a\": \x01}", "byte 0x01 instead of a value at byte 6" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct reading r = open_text(cases[i].text, strlen(cases[i].text));
		unsigned n = 0;
		for (scan_enter(r.scan, '{'); scan_key(r.scan) && n < 10; n++)
			scan_text(r.scan);
		assert_true(n < 10);
		assert_string_equal(scan_trouble(r.scan), cases[i].trouble);
		close_text(&r);
	}
}

static struct event read_event(const char *text, struct strtab *names)
{
	struct event e;
	struct reading r = open_text(text, strlen(text));
	assert_true(event_read(&e, r.scan, names));
	close_text(&r);
	return e;
}

static void test_events_of_old_and_new_versions_are_read(void **state)
{
	struct strtab names = { 0 };
	(void)state;
	struct event e =
		read_event("{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"pid\":0,"
			   "\"tid\":\"stream 7\",\"ts\":5,\"dur\":2,\"args\":{\"device\":3,"
			   "\"correlation\":9,\"grid\":[1,2,3],\"new\":{\"x\":[null]}}}",
			   &names);
	assert_int_equal(e.category, EVENT_KERNEL);
	assert_int_equal(e.tid, 7);
	assert_int_equal(e.device, 3);
	assert_int_equal(e.correlation, 9);
	assert_int_equal(e.grid[2], 3);
	assert_int_equal(e.duration_ns, 2000);
	assert_int_equal(e.stream, EVENT_NONE);
	e = read_event("{\"args\":3,\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"ts\":0.125,"
		       "\"pid\":\"Spans\"}",
		       &names);
	assert_int_equal(e.category, EVENT_RUNTIME);
	assert_int_equal(e.begin_ns, 125);
	assert_int_equal(e.pid, EVENT_NONE);
	assert_false(e.has_duration);
	assert_int_equal(e.name, 0);
	e = read_event("17", &names);
	assert_int_equal(e.phase, 0);
	strtab_free(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_with_three_decimals_are_exact),
		cmocka_unit_test(test_texts_are_valid_utf8_without_a_0_byte),
		cmocka_unit_test(test_a_text_of_megabytes_is_cut_and_passed),
		cmocka_unit_test(test_deep_nesting_is_skipped),
		cmocka_unit_test(test_an_error_says_what_and_where),
		cmocka_unit_test(test_events_of_old_and_new_versions_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
