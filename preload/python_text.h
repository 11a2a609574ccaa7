/* Copies Python's texts. Used only by the python*.c files. */
#ifndef PRELOAD_PYTHON_TEXT_H
#define PRELOAD_PYTHON_TEXT_H

#include "preload/python_layout.h"

#include <stdbool.h>
#include <stddef.h>

/* Copies the str at `text`, which must be live and verified to be one, encoded like os.fsencode():
 * UTF-8, with bytes that were not UTF-8 restored. Returns false if it is not stored as expected.
 * Text that does not fit is cut off. */
bool python_text_copy(const struct python_layout *l, uint64_t text, char *to, size_t bytes);

#endif
