/*
 * Finds the source line of an instruction of a Python code object, from the line table that the
 * library copied (struct dict_code). CPython has had three formats: lnotab (up to 3.9), the format
 * of 3.10, and the location table (from 3.11 on).
 */
#ifndef CORE_PYLINES_H
#define CORE_PYLINES_H

#include "core/runtime/record.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the line of the instruction at offset `lasti` in bytes. Returns `first_line` if `lasti`
 * is FRAME_LASTI_UNKNOWN, if the instruction has no line or is outside the table, or if the table
 * is damaged. Never reads outside the table.
 */
uint32_t pylines_line(enum line_table kind, const uint8_t *table, size_t bytes, uint32_t first_line,
		      uint32_t lasti);

#endif
