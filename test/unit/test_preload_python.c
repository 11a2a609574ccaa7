/*
 * Python's frames from hand-made memory: for every row of the layout table an interpreter is built out of words at that row's
 * offsets (also for versions that are on no machine here), and read by way of the whole library half, verification included. What a
 * real interpreter has is tested by test/e2e/test_python_frames.py.
 */
#include "core/journal.h"
#include "preload/python.h"
#include "preload/python_code.h"
#include "preload/python_layout.h"
#include "preload/python_text.h"
#include "preload/python_verify.h"
#include "preload/python_walk.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- The interpreter ---- */

static struct python_api api;
static bool is_there, is_finalizing;
static uint8_t *thread; /* what PyGILState_GetThisThreadState gives */
static uint64_t types[3];
static uint64_t runtime[128];
static struct python_layout layout;

static uint8_t arena[1 << 17]; /* of its objects: given back as a whole */
static size_t arena_used;

/* In place of preload/python_find.c's, which this program leaves in its archive. */
bool python_find(struct python_api *to)
{
	*to = api;
	return is_there;
}

static void *thread_state(void)
{
	return thread;
}

static int finalizing(void)
{
	return is_finalizing;
}

static uint32_t version_hex(unsigned minor)
{
	return 3u << 24 | minor << 16 | 2u << 8 | PYTHON_FINAL << 4;
}

static void fill_runtime(const struct python_layout *l);

/* An interpreter as the table's row has it, with no thread yet. */
static void begin_interpreter(const struct python_layout *row)
{
	unsigned minor = row->minor;
	layout = *row;
	arena_used = 0;
	memset(runtime, 0, sizeof(runtime));
	memcpy(runtime, "xdebugpy", 8);
	runtime[1] = version_hex(minor);
	runtime[2] = row->is_free_threaded;
	fill_runtime(row);
	is_there = true;
	is_finalizing = false;
	thread = NULL;
	api = (struct python_api){
		.thread_state = thread_state,
		.is_finalizing = finalizing,
		.code_type = (uint64_t)(uintptr_t)&types[0],
		.text_type = (uint64_t)(uintptr_t)&types[1],
		.bytes_type = (uint64_t)(uintptr_t)&types[2],
		.runtime = runtime,
		.version = version_hex(minor),
	};
}

/* Where the words of each group stand, from CPython's own headers (pycore_debug_offsets.h). */
struct groups {
	unsigned minor, thread, frame, code, object, bytes, text;
};
static const struct groups groups[] = {
	{ 13, 19, 28, 34, 44, 64, 67 },
	{ 14, 22, 31, 39, 50, 74, 77 },
	{ 15, 22, 39, 47, 58, 86, 89 },
};

static void fill_runtime(const struct python_layout *l)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		const struct groups *g = &groups[i];
		if (g->minor != l->minor)
			continue;
		runtime[g->thread + 4] = l->thread_top;
		runtime[g->frame + 1] = l->frame_previous;
		runtime[g->frame + 2] = l->frame_code;
		runtime[g->frame + 3] = l->frame_position;
		runtime[g->frame + 5] = l->frame_owner;
		runtime[g->frame + 7] = l->frame_tlbc;
		runtime[g->code + 1] = l->code_file;
		runtime[g->code + 3] = l->code_name;
		runtime[g->code + 4] = l->code_lines;
		runtime[g->code + 5] = l->code_first_line;
		runtime[g->code + 9] = l->code_start;
		runtime[g->code + 10] = l->code_tlbc;
		runtime[g->object + 1] = l->object_type;
		runtime[g->bytes + 1] = l->object_size;
		runtime[g->bytes + 2] = l->bytes_data;
		runtime[g->text + 1] = l->text_state;
		runtime[g->text + 2] = l->text_length;
		runtime[g->text + 3] = l->text_ascii;
	}
}

/* ---- Its objects ---- */

static uint8_t *take(size_t bytes)
{
	uint8_t *taken = arena + arena_used;
	arena_used += (bytes + 15) & ~(size_t)15;
	assert_in_range(arena_used, 0, sizeof(arena));
	return memset(taken, 0, bytes);
}

static void set_word(uint8_t *object, unsigned offset, uint64_t value)
{
	memcpy(object + offset, &value, sizeof(value));
}

static void set_half(uint8_t *object, unsigned offset, uint32_t value)
{
	memcpy(object + offset, &value, sizeof(value));
}

static void set_pointer(uint8_t *object, unsigned offset, const void *value)
{
	set_word(object, offset, (uint64_t)(uintptr_t)value);
}

/* A str whose characters take `unit` bytes each. */
static uint8_t *make_text(const void *characters, size_t length, unsigned unit, bool is_ascii)
{
	uint8_t *text = take(128 + length * unit);
	set_word(text, layout.object_type, api.text_type);
	set_word(text, layout.text_length, length);
	set_half(text, layout.text_state,
		 (unit | 1u << 3 | (unsigned)is_ascii << 4) << layout.text_kind_bit);
	memcpy(text + (is_ascii ? layout.text_ascii : layout.text_wide), characters, length * unit);
	return text;
}

static uint8_t *make_ascii(const char *characters)
{
	return make_text(characters, strlen(characters), 1, true);
}

static uint8_t *make_bytes(const void *data, size_t bytes)
{
	uint8_t *object = take(64 + bytes);
	set_word(object, layout.object_type, api.bytes_type);
	set_word(object, layout.object_size, bytes);
	memcpy(object + layout.bytes_data, data, bytes);
	return object;
}

enum { CODE_BYTES = 32 };

/* A code object of 32 bytes of code, all of them on the second line. */
static uint8_t *make_code(const char *file, const char *name, uint32_t first_line)
{
	static const uint8_t lnotab[] = { 0, 1 }, table_310[] = { 32, 1 };
	static const uint8_t table_311[] = { 0xef, 0x02, 0xef, 0x00 }; /* 2 x 8 units: +1, +0 */
	uint8_t *code = take(512), *name_object = make_ascii(name);
	set_word(code, layout.object_type, api.code_type);
	set_pointer(code, layout.code_file, make_ascii(file));
	set_pointer(code, layout.code_name, name_object);
	set_half(code, layout.code_first_line, first_line);
	if (layout.position == POSITION_ADDRESS) {
		set_pointer(code, layout.code_name - 8, name_object);
		set_word(code, layout.object_size, CODE_BYTES / 2);
		set_pointer(code, layout.code_lines, make_bytes(table_311, sizeof(table_311)));
	} else {
		static const uint8_t instructions[CODE_BYTES];
		set_pointer(code, layout.code_first_line + 8, make_bytes(instructions, CODE_BYTES));
		set_pointer(code, layout.code_lines,
			    layout.lines == LINES_310 ? make_bytes(table_310, sizeof(table_310))
						      : make_bytes(lnotab, sizeof(lnotab)));
	}
	return code;
}

static uint8_t *make_frame(const uint8_t *code, int lasti, const uint8_t *previous)
{
	uint8_t *frame = take(512);
	set_pointer(frame, layout.frame_code, code);
	set_pointer(frame, layout.frame_previous, previous);
	if (layout.position == POSITION_ADDRESS)
		set_pointer(frame, layout.frame_position, code + layout.code_start + lasti);
	else
		set_half(frame, layout.frame_position,
			 (uint32_t)(layout.position == POSITION_UNITS ? lasti / 2 : lasti));
	return frame;
}

/* An entry of the evaluator's own, where this version has such; it refers to no code object. */
static uint8_t *make_shim(uint8_t *previous)
{
	if (layout.frame_owner == ABSENT)
		return previous;
	uint8_t *frame = take(512);
	/* FRAME_OWNED_BY_CSTACK to 3.13, since then _BY_INTERPRETER */
	frame[layout.frame_owner] = 3;
	set_pointer(frame, layout.frame_previous, previous);
	return frame;
}

static void make_thread(const uint8_t *top)
{
	thread = take(512);
	set_pointer(thread, layout.thread_top, top);
	if (layout.cframe_frame != ABSENT) {
		uint8_t *cframe = take(64);
		set_pointer(cframe, layout.cframe_frame, top);
		set_pointer(thread, layout.thread_top, cframe);
	}
}

static void mark_entry(uint8_t *frame)
{
	if (layout.frame_is_entry != ABSENT)
		frame[layout.frame_is_entry] = 1;
}

/* ---- Around each test ---- */

static char folder[64];

static int set_up(void **state)
{
	struct err e;
	(void)state;
	is_there = false;
	snprintf(folder, sizeof(folder), "/tmp/test-python-XXXXXX");
	return mkdtemp(folder) ? journal_open(folder, 16 << 20, CLOCK_KIND_MONOTONIC_NS, &e) : -1;
}

static int tear_down(void **state)
{
	char command[100];
	(void)state;
	munmap(journal_header(), journal_header()->file_bytes);
	journal_forget();
	python_forget();
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

/* The value of DICT_INFO "python", NULL: none. */
static const char *info(void)
{
	const struct journal_header *h = journal_header();
	const uint8_t *at = (const uint8_t *)h + h->dictionary_offset;
	const uint8_t *end = at + h->dictionary_used_bytes;
	const char *value = NULL;
	for (; at < end; at += ((const struct dict_head *)at)->bytes) {
		const char *key = (const char *)at + sizeof(struct dict_head);
		if (((const struct dict_head *)at)->kind == DICT_INFO && !strcmp(key, "python"))
			value = key + strlen(key) + 1;
	}
	return value;
}

/* ---- The rows ---- */

static const struct row {
	unsigned minor;
	bool is_free_threaded;
} rows[] = {
	{ 8, false }, { 9, false },  { 10, false }, { 11, false }, { 12, false }, { 13, false },
	{ 13, true }, { 14, false }, { 14, true },  { 15, false }, { 15, true },
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };

static const struct python_layout *row_at(int i)
{
	const struct python_layout *row =
		python_layout_row(rows[i].minor, rows[i].is_free_threaded);
	assert_non_null(row);
	return row;
}

/* inner <- middle <- [evaluator] <- outer <- [evaluator]; returns the innermost. */
static uint8_t *make_stack(const uint8_t *inner, const uint8_t *middle, const uint8_t *outer)
{
	uint8_t *last = make_frame(outer, 4, make_shim(NULL));
	mark_entry(last);
	uint8_t *next = make_frame(middle, 6, make_shim(last));
	mark_entry(next);
	uint8_t *top = make_frame(inner, 8, next);
	make_thread(top);
	return top;
}

/* ---- Choosing ---- */

static const char *choose(uint32_t version, const uint64_t *words)
{
	struct python_api asked = { .version = version, .runtime = words };
	return python_layout_choose(&asked, &layout);
}

static void test_versions_that_are_not_known(void **state)
{
	static const uint32_t versions[] = { 0,		 0x02071200, 0x030712f0, 0x031002f0,
					     0x030e00a3, 0x030f00b1, 0x040002f0 };
	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		begin_interpreter(row_at(9));
		runtime[1] = versions[i];
		assert_string_equal(choose(versions[i], runtime),
				    "frames of this version are not known");
	}
	assert_null(choose(0x030b07f0, NULL));
	assert_null(choose(0x030b00c1, NULL));
}

static void test_words_of_the_interpreter(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		const struct python_layout *row = row_at(i);
		begin_interpreter(row);
		assert_null(choose(version_hex(row->minor), runtime));
		assert_false(layout.is_moved);
		assert_int_equal(layout.is_free_threaded, row->is_free_threaded);
		if (row->minor < 13)
			continue;
		assert_non_null(choose(version_hex(row->minor), NULL));
		assert_non_null(choose(version_hex(row->minor) + 0x100, runtime));
		runtime[groups[row->minor - 13].frame + 1] = 16;
		assert_null(choose(version_hex(row->minor), runtime));
		assert_true(layout.is_moved);
		assert_int_equal(layout.frame_previous, 16);
		assert_int_equal(layout.code_identity[1], row->code_identity[1]);
		runtime[groups[row->minor - 13].code + 4] = 256;
		assert_null(choose(version_hex(row->minor), runtime));
		assert_int_equal(layout.code_lines, 256);
		assert_int_equal(layout.code_identity[1],
				 256); /* co_version has moved, who knows where to */
		runtime[groups[row->minor - 13].text + 1] = 1 << 20;
		assert_non_null(choose(version_hex(row->minor), runtime));
	}
}

/* ---- Verifying ---- */

static enum python_verdict verify(void)
{
	return python_verify(&api, &layout, (uint64_t)(uintptr_t)thread);
}

static void test_first_chain(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		uint8_t *code = make_code("a.py", "f", 10);
		make_stack(code, code, code);
		assert_int_equal(verify(), PYTHON_VERIFIED);
		make_thread(NULL);
		assert_int_equal(verify(), PYTHON_NO_FRAMES);
		make_thread(make_shim(NULL));
		assert_int_equal(verify(), PYTHON_NO_FRAMES);
	}
}

/* Spoils one thing after another; each is enough to doubt. */
static void test_doubts(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		const unsigned fields[] = { layout.object_type, layout.code_file, layout.code_name,
					    layout.code_lines };
		for (size_t j = 0; j < sizeof(fields) / sizeof(*fields); j++) {
			uint8_t *bad = make_code("a.py", "f", 10),
				*good = make_code("a.py", "f", 10);
			make_stack(good, bad, good);
			set_word(bad, fields[j], 8); /* nothing is mapped there */
			assert_int_equal(verify(), PYTHON_DOUBTFUL);
			set_pointer(bad, fields[j], bad);
			assert_int_equal(verify(), PYTHON_DOUBTFUL);
		}
		uint8_t *code = make_code("a.py", "f", 10);
		make_stack(code, code, code);
		set_half(code, layout.code_first_line, 0x80000000);
		assert_int_equal(verify(), PYTHON_DOUBTFUL);
		static const uint8_t too_long[] = { 0xef, 0x02, 0xef, 0x02, 0xef, 0x02 };
		code = make_code("a.py", "f", 10);
		make_thread(make_frame(code, 2, NULL));
		set_pointer(code, layout.code_lines, make_bytes(too_long, sizeof(too_long)));
		assert_int_equal(verify(), PYTHON_DOUBTFUL);
		uint8_t *text = make_text("a.py\x01", 5, 1, true);
		code = make_code("a.py", "f", 10);
		make_thread(make_frame(code, 2, NULL));
		set_pointer(code, layout.code_file, text);
		assert_int_equal(verify(), PYTHON_VERIFIED);
		set_word(text, layout.text_length, 4); /* no zero ends it */
		assert_int_equal(verify(), PYTHON_DOUBTFUL);
		code = make_code("a.py", "f", 10);
		make_thread(make_frame(code, CODE_BYTES, NULL));
		assert_int_equal(verify(),
				 layout.is_free_threaded ? PYTHON_VERIFIED : PYTHON_DOUBTFUL);
		make_thread(make_frame(code, 2, NULL) + 4);
		assert_int_equal(verify(), PYTHON_DOUBTFUL);
		make_thread((const uint8_t *)16);
		assert_int_equal(verify(), PYTHON_DOUBTFUL);
	}
}

/* ---- Walking ---- */

static struct python_chain walk_with(python_walk *walk, const uint8_t *top, uint32_t most)
{
	struct python_chain chain;
	walk(&layout, (uint64_t)(uintptr_t)top, most, 0, &chain);
	return chain;
}

static void test_walk(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		python_walk *walk = python_walk_for(&layout);
		layout.is_moved = true;
		python_walk *slow = python_walk_for(&layout);
		assert_ptr_not_equal(walk, slow);
		uint8_t *code = make_code("a.py", "f", 10), *other = make_code("a.py", "g", 20);
		uint8_t *top = make_stack(code, other, code), *same = make_stack(code, other, code);
		struct python_chain chain = walk_with(walk, top, 8);
		assert_int_equal(chain.n, 3);
		assert_false(chain.is_truncated);
		assert_true(walk_with(slow, top, 8).hash == chain.hash);
		assert_true(walk_with(walk, same, 8).hash == chain.hash);
		assert_true(walk_with(walk, make_stack(code, code, code), 8).hash != chain.hash);
		assert_true(walk_with(walk, make_stack(other, code, code), 8).hash != chain.hash);
		assert_int_equal(walk_with(walk, top, 3).is_truncated, false);
		assert_int_equal(walk_with(walk, top, 2).n, 2);
		assert_true(walk_with(walk, top, 2).is_truncated);
		set_word(code, layout.code_identity[0], 0x1234500000678);
		assert_true(walk_with(walk, top, 8).hash != chain.hash);
		assert_true(walk_with(walk, NULL, 8).hash == 0);
	}
}

/* The same frames at the same places, once run by one activation of the evaluator and once by two. */
static void test_entries_are_part_of_the_number(void **state)
{
	(void)state;
	for (int i = 3; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		python_walk *walk = python_walk_for(&layout);
		const uint8_t *code = make_code("a.py", "f", 10);
		uint8_t *outer = make_frame(code, 4, make_shim(NULL));
		uint8_t *direct = make_frame(code, 2, outer);
		uint8_t *anew = make_frame(code, 2, make_shim(outer));
		mark_entry(anew);
		struct python_chain a = walk_with(walk, direct, 8), b = walk_with(walk, anew, 8);
		assert_int_equal(a.n, b.n);
		assert_true(a.hash != b.hash);
	}
}

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

static void test_an_address_used_again(void **state)
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

/* ---- All of it, in a child: a process has one Python ---- */

#define NEED(condition)                  \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

static int read_whole_stack(void)
{
	struct python_chain chain;
	struct python_frame frames[PYTHON_DEPTH_MOST];
	uint32_t flags = 0;
	python_start(64);
	NEED(!python_read(&chain)); /* there is none yet */
	is_there = true;
	NEED(!python_read(&chain));
	python_objects_changed();
	NEED(python_read(&chain) && chain.n == 3);
	NEED(python_resolve(&chain, frames, &flags));
	NEED(frames[0].code == 1 && frames[1].code == 2 && frames[2].code == 1);
	NEED(frames[0].lasti == 8 && frames[1].lasti == 6 && frames[2].lasti == 4);
	NEED(frames[2].is_entry && frames[0].is_entry == (layout.minor < 11));
	NEED(layout.frame_owner == ABSENT || (frames[2].marker && !frames[0].marker));
	NEED(flags == (layout.minor < 10 ? STACK_BY_NAME : 0u));
	NEED(!strncmp(info(), "3.", 2) && !strchr(info(), ':'));
	is_finalizing = true; /* this is the main thread */
	NEED(python_read(&chain));
	thread = NULL;
	NEED(!python_read(&chain) && chain.hash == 0);
	return 0;
}

/* A free-threaded thread's own copy of the bytecode. */
static int read_own_bytecode(void)
{
	struct python_chain chain;
	struct python_frame frame;
	uint32_t flags = 0;
	uint8_t *code = make_code("a.py", "f", 10), *copies = take(64), *bytecode = take(64);
	uint8_t *top = make_frame(code, 0, make_shim(NULL));
	set_word(copies, 0, 3);
	set_pointer(copies, 8 + 2 * 8, bytecode);
	set_pointer(code, layout.code_tlbc, copies);
	set_half(top, layout.frame_tlbc, 2);
	set_pointer(top, layout.frame_position, bytecode + 12);
	make_thread(top);
	is_there = true;
	python_start(64);
	NEED(python_read(&chain) && python_resolve(&chain, &frame, &flags) && frame.lasti == 12);
	set_half(top, layout.frame_tlbc, 3); /* there are three, 0 to 2 */
	NEED(python_read(&chain) && python_resolve(&chain, &frame, &flags));
	NEED(frame.lasti == FRAME_LASTI_UNKNOWN && frame.code == 1);
	return 0;
}

/* What is wrong is said, and nothing is read from then on. */
static int doubt_whole_stack(void)
{
	struct python_chain chain;
	is_there = true;
	make_thread((const uint8_t *)16);
	python_start(64);
	NEED(!python_read(&chain));
	uint8_t *code = make_code("a.py", "f", 10);
	make_stack(code, code, code);
	NEED(!python_read(&chain));
	python_objects_changed();
	NEED(!python_read(&chain));
	NEED(strstr(info(), ": its frames are not where this version has them"));
	return 0;
}

static void run_in_child(int (*body)(void))
{
	int status;
	pid_t child = fork();
	if (!child) {
		struct err e;
		journal_forget(); /* its mapping is not inherited */
		if (journal_open(folder, 16 << 20, CLOCK_KIND_MONOTONIC_NS, &e))
			_exit(2);
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		int line = body();
		if (line)
			dprintf(STDOUT_FILENO, "# %s:%d\n", __FILE__, line);
		_exit(line != 0);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static void test_whole(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		is_there = false;
		python_code_forget();
		const uint8_t *code = make_code("a.py", "f", 10);
		make_stack(code, make_code("a.py", "g", 20), code);
		run_in_child(read_whole_stack);
		run_in_child(doubt_whole_stack);
		if (layout.frame_tlbc != ABSENT)
			run_in_child(read_own_bytecode);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_versions_that_are_not_known, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_words_of_the_interpreter, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_first_chain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_doubts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_walk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_entries_are_part_of_the_number, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_texts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_equal_code_has_one_id, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_address_used_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_more_code_than_there_is_room, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_lock_is_not_entered_twice, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_whole, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
