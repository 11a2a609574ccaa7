/*
 * Python interpreters from hand-made memory. For every row of the layout table one is built out of
 * words at that row's offsets, also for versions that no machine here has. Included by the one file
 * that is the test program.
 */
#ifndef TEST_UNIT_MADE_PYTHON_H
#define TEST_UNIT_MADE_PYTHON_H

#include "core/runtime/journal.h"
#include "preload/python.h"
#include "preload/python_code.h"
#include "preload/python_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- The interpreter ---- */

static struct python_api api;
static bool is_there, is_finalizing;
static uint8_t *thread; /* what PyGILState_GetThisThreadState gives */
static uint64_t types[3];
static uint64_t runtime[128];
static struct python_layout layout;

static uint8_t arena[1 << 18]; /* of its objects: given back as a whole */
static size_t arena_used;

/* In place of preload/python_find.c's, which this program leaves in its archive. */
bool python_find(struct python_api *to)
{
	*to = api;
	return is_there;
}

static inline void *thread_state(void)
{
	return thread;
}

static inline int finalizing(void)
{
	return is_finalizing;
}

static inline uint32_t version_hex(unsigned minor)
{
	return 3u << 24 | minor << 16 | 2u << 8 | PYTHON_FINAL << 4;
}

static void fill_runtime(const struct python_layout *l);

/* An interpreter as the table's row has it, with no thread yet. */
static inline void begin_interpreter(const struct python_layout *row)
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

static inline void fill_runtime(const struct python_layout *l)
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

static inline uint8_t *take(size_t bytes)
{
	uint8_t *taken = arena + arena_used;
	arena_used += (bytes + 15) & ~(size_t)15;
	assert_in_range(arena_used, 0, sizeof(arena));
	return memset(taken, 0, bytes);
}

static inline void set_word(uint8_t *object, unsigned offset, uint64_t value)
{
	memcpy(object + offset, &value, sizeof(value));
}

static inline void set_half(uint8_t *object, unsigned offset, uint32_t value)
{
	memcpy(object + offset, &value, sizeof(value));
}

static inline void set_pointer(uint8_t *object, unsigned offset, const void *value)
{
	set_word(object, offset, (uint64_t)(uintptr_t)value);
}

/* A str whose characters take `unit` bytes each. */
static inline uint8_t *make_text(const void *characters, size_t length, unsigned unit,
				 bool is_ascii)
{
	uint8_t *text = take(128 + length * unit);
	set_word(text, layout.object_type, api.text_type);
	set_word(text, layout.text_length, length);
	set_half(text, layout.text_state,
		 (unit | 1u << 3 | (unsigned)is_ascii << 4) << layout.text_kind_bit);
	memcpy(text + (is_ascii ? layout.text_ascii : layout.text_wide), characters, length * unit);
	return text;
}

static inline uint8_t *make_ascii(const char *characters)
{
	return make_text(characters, strlen(characters), 1, true);
}

static inline uint8_t *make_bytes(const void *data, size_t bytes)
{
	uint8_t *object = take(64 + bytes);
	set_word(object, layout.object_type, api.bytes_type);
	set_word(object, layout.object_size, bytes);
	memcpy(object + layout.bytes_data, data, bytes);
	return object;
}

enum { CODE_BYTES = 32 };

/* A code object of 32 bytes of code, all of them on the second line. */
static inline uint8_t *make_code(const char *file, const char *name, uint32_t first_line)
{
	static const uint8_t lnotab[] = { 0, 1 }, table_310[] = { 32, 1 };
	static const uint8_t table_311[] = { 0xef, 0x02, 0xef, 0x00 }; /* 2 x 8 units: +1, +0 */
	static const uint8_t exceptions_311[] = { 0x80, 8, 12, 1 };
	uint8_t *code = take(512), *name_object = make_ascii(name);
	set_word(code, layout.object_type, api.code_type);
	set_pointer(code, layout.code_file, make_ascii(file));
	set_pointer(code, layout.code_name, name_object);
	set_half(code, layout.code_first_line, first_line);
	if (layout.position == POSITION_ADDRESS) {
		set_pointer(code, layout.code_name - 8, name_object);
		set_word(code, layout.object_size, CODE_BYTES / 2);
		set_pointer(code, layout.code_lines, make_bytes(table_311, sizeof(table_311)));
		set_pointer(code, layout.code_exceptions,
			    make_bytes(exceptions_311, sizeof(exceptions_311)));
	} else {
		static const uint8_t instructions[CODE_BYTES];
		set_pointer(code, layout.code_start, make_bytes(instructions, CODE_BYTES));
		set_pointer(code, layout.code_lines,
			    layout.lines == LINES_310 ? make_bytes(table_310, sizeof(table_310))
						      : make_bytes(lnotab, sizeof(lnotab)));
	}
	return code;
}

static inline uint8_t *make_frame(const uint8_t *code, int lasti, const uint8_t *previous)
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
static inline uint8_t *make_shim(uint8_t *previous)
{
	if (layout.frame_owner == ABSENT)
		return previous;
	uint8_t *frame = take(512);
	/* FRAME_OWNED_BY_CSTACK to 3.13, since then _BY_INTERPRETER */
	frame[layout.frame_owner] = 3;
	set_pointer(frame, layout.frame_previous, previous);
	return frame;
}

static inline void make_thread(const uint8_t *top)
{
	thread = take(512);
	set_pointer(thread, layout.thread_top, top);
	if (layout.cframe_frame != ABSENT) {
		uint8_t *cframe = take(64);
		set_pointer(cframe, layout.cframe_frame, top);
		set_pointer(thread, layout.thread_top, cframe);
	}
}

static inline void mark_entry(uint8_t *frame)
{
	if (layout.frame_is_entry != ABSENT)
		frame[layout.frame_is_entry] = 1;
}

/* ---- Around each test ---- */

static char folder[64];

static inline int set_up(void **state)
{
	struct err e;
	(void)state;
	is_there = false;
	snprintf(folder, sizeof(folder), "/tmp/test-python-XXXXXX");
	return mkdtemp(folder) ? journal_open(folder, 16 << 20, CLOCK_KIND_MONOTONIC_NS, &e) : -1;
}

static inline int tear_down(void **state)
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
static inline const char *info(void)
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

static inline const struct python_layout *row_at(int i)
{
	const struct python_layout *row =
		python_layout_row(rows[i].minor, rows[i].is_free_threaded);
	assert_non_null(row);
	return row;
}

/* inner <- middle <- [evaluator] <- outer <- [evaluator]; returns the innermost. */
static inline uint8_t *make_stack(const uint8_t *inner, const uint8_t *middle, const uint8_t *outer)
{
	uint8_t *last = make_frame(outer, 4, make_shim(NULL));
	mark_entry(last);
	uint8_t *next = make_frame(middle, 6, make_shim(last));
	mark_entry(next);
	uint8_t *top = make_frame(inner, 8, next);
	make_thread(top);
	return top;
}

#endif
