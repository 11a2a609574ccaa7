/*
 * Prepares texts of the profiled program, such as names and source lines, for columns of a
 * terminal: replaces control characters and cuts the texts to fit. libc's wcwidth() determines how
 * many columns a character takes.
 */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stddef.h>

/* Size of a buffer for one line, including escape sequences and the bytes of UTF-8 characters. */
enum { TEXT_BYTES = 1024 };

/* Copies the text to `to`, which has room for `bytes`, and drops the end of a longer text. Replaces
 * tabs and newlines by blanks. Replaces each other character that is not printable, is deceptive
 * (utf8_is_deceptive) or is not UTF-8 by '?'. The copy is never longer than the text. Returns the
 * number of columns of the copy. */
size_t text_clean(char *to, size_t bytes, const char *text);

/* Returns the number of columns that the text takes on a terminal once it is cleaned. */
size_t text_width(const char *text);

/* Returns how many bytes from the start of a cleaned text fit into `columns`. No character is
 * split. */
size_t text_head_bytes(const char *text, size_t columns);

/*
 * Which part of a text is removed if the text is too long: the tail of sentences, the middle of
 * names, the head of paths.
 */
enum text_cut { CUT_TAIL, CUT_MIDDLE, CUT_HEAD };

/* Cleans the text, and cuts it to `columns` with dots at the cut. Copies the result to `to`, which
 * has room for `bytes`. Returns `to`. */
char *text_fit(char *to, size_t bytes, const char *text, size_t columns, enum text_cut cut);

/* Appends to the text in `to`, which has room for `bytes`. Drops the end of what does not fit. */
__attribute__((format(printf, 3, 4))) void text_append(char *to, size_t bytes, const char *format,
						       ...);

#endif
