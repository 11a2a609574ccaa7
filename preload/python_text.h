/* Copies Python's texts. Used only by the python*.c files. */
#ifndef PRELOAD_PYTHON_TEXT_H
#define PRELOAD_PYTHON_TEXT_H

#include "preload/python_layout.h"

#include <stdbool.h>
#include <stddef.h>

/* Copies the str at `text` in the encoding of os.fsencode(): UTF-8, with bytes that were not UTF-8
 * restored. `text` must be alive and verified to be a str. Cuts text that does not fit into
 * `bytes`, and always adds a NUL. Returns false if the str is not stored as expected. */
bool python_text_copy(const struct python_layout *l, uint64_t text, char *to, size_t bytes);

#endif
