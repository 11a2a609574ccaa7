/*
 * From an instruction of a Python code object to its line, by the table that the library copied (struct dict_code). The three
 * layouts that CPython has had: lnotab (to 3.9), 3.10's, and the location table of 3.11 and later.
 */
#ifndef CORE_PYLINES_H
#define CORE_PYLINES_H

#include "core/runtime/record.h"

#include <stddef.h>
#include <stdint.h>

/* The line of the instruction at `lasti` bytes. `first_line` where the table doesn't say: an instruction without a line, one
 * outside the table, FRAME_LASTI_UNKNOWN, a damaged table. Reads nothing outside the table. */
uint32_t pylines_line(enum line_table kind, const uint8_t *table, size_t bytes, uint32_t first_line,
		      uint32_t lasti);

#endif
