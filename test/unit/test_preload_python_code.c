/*
 * Python's texts and code objects, of hand-made interpreters: read, distinguished, and their room
 * used up.
 */
#include "preload/python_text.h"
#include "test/unit/made_python.h"

/* ---- Texts ---- */

static void assert_text(const void *characters, size_t length, unsigned unit, bool is_ascii,
			const char *wanted)
{
	char copy[64];
	uint8_t *text = make_text(characters, length, unit, is_ascii);
	assert_true(python_text_copy(&layout, (uint64_t)(uintptr_t)text, copy, sizeof(copy)));
	assert_string_equal(copy, wanted);
	assert_true(python_text_copy(&layout, (uint64_t)(uintptr_t)text, copy, 5));
	assert_in_range(strlen(copy), 0, 4);
	assert_memory_equal(copy, wanted, strlen(copy));
}

static void test_texts(void **state)
{
	static const uint16_t two[] = { 'a', 0xe9, 0x20ac, 0xdcff, 0xd800, 0 };
	static const uint32_t four[] = { 0x1f600, 'z', 0x110000 };
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		assert_text("plain", 5, 1, true, "plain");
		assert_text("\xe9\xff", 2, 1, false, "\xc3\xa9\xc3\xbf");
		assert_text(two, 6, 2, false, "a\xc3\xa9\xe2\x82\xac\xff\xef\xbf\xbd\xef\xbf\xbd");
		assert_text(four, 3, 4, false, "\xf0\x9f\x98\x80z\xef\xbf\xbd");
		assert_text("", 0, 1, true, "");
		uint8_t *legacy = make_ascii("x");
		char copy[8];
		set_half(legacy, layout.text_state, (1u | 1u << 4) << layout.text_kind_bit);
		assert_false(python_text_copy(&layout, (uint64_t)(uintptr_t)legacy, copy, 8));
	}
}

/* ---- Code objects ---- */

static uint32_t id_of(const uint8_t *code)
{
	return python_code_id(&api, &layout, (uint64_t)(uintptr_t)code);
}

static void test_equal_code_has_one_id(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		python_code_forget();
		assert_true(python_code_lock());
		uint32_t first = id_of(make_code("a.py", "f", 10));
		assert_int_equal(first, 1);
		assert_int_equal(id_of(make_code("a.py", "f", 10)), first);
		assert_int_equal(id_of(make_code("a.py", "f", 11)), 2);
		assert_int_equal(id_of(make_code("a.py", "g", 10)), 3);
		assert_int_equal(id_of(make_code("b.py", "f", 10)), 4);
		assert_int_equal(id_of(make_ascii("no code at all")), 0);
		python_code_unlock();
	}
}

static void test_a_reused_address(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		python_code_forget();
		assert_true(python_code_lock());
		uint8_t *code = make_code("a.py", "f", 10);
		uint32_t first = id_of(code);
		uint64_t epoch = python_code_epoch();
		python_code_check(&api, &layout, (uint64_t)(uintptr_t)code);
		assert_true(python_code_epoch() == epoch);
		set_pointer(code, layout.code_file, make_ascii("b.py")); /* no identity word */
		python_code_check(&api, &layout, (uint64_t)(uintptr_t)code);
		assert_true(python_code_epoch() == epoch + 1);
		assert_int_not_equal(id_of(code), first);
		assert_true(python_code_epoch() == epoch + 1);
		set_pointer(code, layout.code_file, make_ascii("c.py"));
		set_word(code, layout.code_identity[0], 0x7700000000);
		id_of(code); /* since 3.12 the number says by itself that it is another */
		assert_true(python_code_epoch() == epoch + (layout.minor < 12 ? 2 : 1));
		python_code_unlock();
	}
}

static void test_more_code_than_there_is_room(void **state)
{
	(void)state;
	begin_interpreter(row_at(3));
	python_code_forget();
	uint64_t dropped = journal_header()->dropped_dictionary;
	uint8_t *code = make_code("a.py", "f", 1);
	assert_true(python_code_lock());
	uint32_t line = 1, id = 1;
	for (; id && line < 400000; line++) {
		set_half(code, layout.code_first_line, line);
		id = id_of(code);
	}
	assert_int_equal(id, 0);
	assert_in_range(line, 10000, 300000);
	assert_true(journal_header()->dropped_dictionary > dropped);
	python_code_unlock();
}

/* Returns the newest DICT_CODE of the journal. */
static const struct dict_code *newest_code(void)
{
	const struct journal_header *h = journal_header();
	const uint8_t *at = (const uint8_t *)h + h->dictionary_offset;
	const uint8_t *end = at + h->dictionary_used_bytes;
	const struct dict_code *code = NULL;
	for (; at < end; at += ((const struct dict_head *)at)->bytes)
		if (((const struct dict_head *)at)->kind == DICT_CODE)
			code = (const struct dict_code *)at;
	return code;
}

static void fill_bytecode(uint8_t *code, uint8_t number)
{
	struct python_bytecode b = python_bytecode_of(&api, &layout, (uint64_t)(uintptr_t)code);
	assert_int_equal(b.bytes, CODE_BYTES);
	memset((void *)(uintptr_t)b.at, number, b.bytes);
}

static void test_bytecode(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		python_code_forget();
		assert_true(python_code_lock());
		uint8_t *code = make_code("a.py", "f", 10), *same = make_code("a.py", "f", 10);
		fill_bytecode(code, 9);
		fill_bytecode(same, 8);
		assert_int_equal(id_of(code), 1);
		const struct dict_code *record = newest_code();
		uint8_t wanted[CODE_BYTES];
		memset(wanted, 9, sizeof(wanted));
		assert_int_equal(record->python, 0x300 | layout.minor);
		assert_int_equal(record->bytecode_bytes, CODE_BYTES);
		assert_memory_equal(record->table + record->table_bytes, wanted, CODE_BYTES);
		bool has_table = layout.minor >= 11;
		assert_int_equal(record->exceptions_bytes, has_table ? 4 : 0);
		if (has_table)
			assert_memory_equal(record->table + record->table_bytes + CODE_BYTES,
					    "\x80\x08\x0c\x01", 4);
		/* Since 3.11 it changes while it runs. */
		assert_int_equal(id_of(same), layout.minor < 11 ? 2 : 1);
		python_code_unlock();
	}
}

/* Lines go on to be copied when there is no room for bytecode any more. */
static void test_bytecode_without_room(void **state)
{
	(void)state;
	begin_interpreter(row_at(0));
	python_code_forget();
	static uint8_t large[BYTECODE_MOST];
	uint8_t *code = make_code("a.py", "f", 1), *bytecode = make_bytes(large, sizeof(large));
	set_pointer(code, layout.code_start, bytecode);
	assert_true(python_code_lock());
	uint32_t with = 0, without = 0;
	for (uint32_t line = 1; line < 100; line++) {
		set_half(code, layout.code_first_line, line);
		assert_int_equal(id_of(code), line);
		assert_int_equal(newest_code()->table_bytes, 2);
		if (newest_code()->bytecode_bytes)
			with++;
		else
			without++;
	}
	assert_true(with && without);
	set_word(bytecode, layout.object_size, BYTECODE_MOST + 1);
	python_code_unlock();
	python_code_forget();
	assert_true(python_code_lock());
	assert_int_equal(id_of(code), 1);
	assert_int_equal(newest_code()->bytecode_bytes, 0);
	python_code_unlock();
}

static void test_the_lock_is_not_entered_twice(void **state)
{
	(void)state;
	assert_true(python_code_lock());
	assert_false(python_code_lock());
	assert_false(python_code_try_lock());
	python_code_unlock();
	assert_true(python_code_try_lock());
	python_code_forget(); /* a child that was forked inside */
	assert_true(python_code_try_lock());
	python_code_unlock();
}

int main(void)
{
#define test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(test_texts),
		test(test_equal_code_has_one_id),
		test(test_a_reused_address),
		test(test_more_code_than_there_is_room),
		test(test_bytecode),
		test(test_bytecode_without_room),
		test(test_the_lock_is_not_entered_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
