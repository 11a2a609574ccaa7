/* Finds the exception that ended a Python program in what the program wrote to stderr last. */
#ifndef CORE_LAST_WORDS_H
#define CORE_LAST_WORDS_H

#include "core/runtime/record.h"

#include <stddef.h>

/*
 * Writes the exception of the last traceback in `text`, such as "ValueError: no batch". Of a
 * message of several lines, writes the first. Writes "" if there is no traceback. Returns `to`.
 */
char *last_words_exception(const char *text, char *to, size_t bytes);

/* Returns the last bytes that the process wrote to stderr, in order. The caller frees the text. */
char *last_words_text(const struct journal_header *h);

#endif
