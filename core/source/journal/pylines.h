/*
 * Finds the line of an instruction of a Python code object in the table that the library copied
 * (struct dict_code). CPython has three formats: lnotab (until 3.9), that of 3.10, and the location
 * table of 3.11 and later.
 */
#ifndef CORE_PYLINES_H
#define CORE_PYLINES_H

#include "core/runtime/record.h"

#include <stddef.h>
#include <stdint.h>

/* Returns the line of the instruction at `lasti` bytes, or `first_line` if the table has none: the
 * instruction has no line or is outside the table, FRAME_LASTI_UNKNOWN, a damaged table. Reads
 * nothing outside the table. */
uint32_t pylines_line(enum line_table kind, const uint8_t *table, size_t bytes, uint32_t first_line,
		      uint32_t lasti);

#endif
