/* Python's texts in our own memory. Shared by the python*.c files only. */
#ifndef PRELOAD_PYTHON_TEXT_H
#define PRELOAD_PYTHON_TEXT_H

#include "preload/python_layout.h"

#include <stdbool.h>
#include <stddef.h>

/* The str at `text`, alive and verified to be one, as os.fsencode() has it: UTF-8, bytes that were no UTF-8 as they were. False where
 * it is not stored as texts are. What does not fit is cut off. */
bool python_text_copy(const struct python_layout *l, uint64_t text, char *to, size_t bytes);

#endif
