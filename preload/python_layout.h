/*
 * The layout of this process's CPython: where its frames, code objects and texts have their fields.
 * Used only by the python*.c files.
 */
#ifndef PRELOAD_PYTHON_LAYOUT_H
#define PRELOAD_PYTHON_LAYOUT_H

#include "core/runtime/record.h"
#include "preload/python_find.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ABSENT 0xffffu /* this version has no such field */

enum python_position {
	POSITION_BYTES, /* the position is the index of the last instruction, in bytes */
	/* the position is the index of the last instruction, in units of two bytes */
	POSITION_UNITS,
	POSITION_ADDRESS,
};

/* Offsets of Python's fields, in bytes. python_layout.def describes the columns. */
struct python_layout {
	uint8_t minor;
	bool is_free_threaded;
	bool is_moved; /* the interpreter's own description differs from the table */
	uint16_t thread_top, thread_cframe;
	uint16_t cframe_frame, cframe_previous;
	uint16_t frame_previous, frame_code, frame_position;
	uint8_t position; /* enum python_position: the meaning of a frame's position */
	uint16_t frame_owner, frame_is_entry, frame_tlbc;
	uint16_t code_file, code_name, code_first_line, code_lines;
	uint8_t lines; /* enum line_table */
	uint16_t code_exceptions, code_start, code_tlbc, code_identity[2];
	uint16_t object_type, object_size, bytes_data;
	uint16_t text_length, text_state;
	/* lowest bit of `kind` in the state: 3 bits for `kind`, then `compact`, then `ascii` */
	uint8_t text_kind_bit;
	uint16_t text_ascii, text_wide;
};

/* A frame whose owner is at least this number is a shim: not a Python function, but the evaluator's
 * own entry (3.12 and later). */
enum { OWNER_SHIM = 3 };

/* Returns the table's row for a minor version, or NULL if the table has none. */
const struct python_layout *python_layout_row(unsigned minor, bool is_free_threaded);

/* Returns the layout of this process's Python once its frames were verified, with its functions in
 * `*api`; NULL before that and after a failure. In python.c. Any thread. */
const struct python_layout *python_layout_verified(const struct python_api **api);

/* Fills in the layout of this Python. Returns NULL if its frames can be read, otherwise a text that
 * says why not. */
const char *python_layout_choose(const struct python_api *api, struct python_layout *to);

/* Reads a word of the application's memory. The address must be readable. */
static inline uint64_t python_word(uint64_t address)
{
	uint64_t value;
	memcpy(&value, (const void *)(uintptr_t)address, sizeof(value));
	return value;
}

static inline uint32_t python_half(uint64_t address)
{
	uint32_t value;
	memcpy(&value, (const void *)(uintptr_t)address, sizeof(value));
	return value;
}

static inline uint8_t python_byte(uint64_t address)
{
	return *(const uint8_t *)(uintptr_t)address;
}

/* Returns the frame's code object. The lowest bits of a frame's reference to it are tag bits of the
 * interpreter (3.14 and later). */
static inline uint64_t python_frame_code(const struct python_layout *l, uint64_t frame)
{
	return python_word(frame + l->frame_code) & ~7ull;
}

static inline uint64_t python_frame_position(const struct python_layout *l, uint64_t frame)
{
	return l->position == POSITION_ADDRESS ? python_word(frame + l->frame_position)
					       : python_half(frame + l->frame_position);
}

/* Returns whether the identity words are co_version, which no two code objects share. */
static inline bool python_is_identity_unique(const struct python_layout *l)
{
	return l->code_identity[0] == l->code_identity[1];
}

/* Returns a word that distinguishes a code object from another one at the same address. Very
 * cheap. */
static inline uint64_t python_code_identity(const struct python_layout *l, uint64_t code)
{
	uint64_t word = python_word(code + l->code_identity[0]);
	return python_is_identity_unique(l) ? word : word + python_word(code + l->code_identity[1]);
}

static inline bool python_is_shim(const struct python_layout *l, uint64_t frame)
{
	return l->frame_owner != ABSENT && python_byte(frame + l->frame_owner) >= OWNER_SHIM;
}

#endif
