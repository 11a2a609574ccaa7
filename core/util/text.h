/*
 * Text of the profiled program (names, source lines) as columns of a terminal, by libc's wcwidth():
 * cleaned of control characters and cut to fit.
 */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stddef.h>

enum { TEXT_BYTES = 1024 /* of one line, escapes and UTF-8 included */ };

/* Copies printable characters, with a blank for each tab. Returns the columns. */
size_t text_clean(char *to, size_t bytes, const char *text);

/* Returns the columns of the cleaned text on a terminal. */
size_t text_width(const char *text);

/* Returns how many bytes from the front fit into `columns`. */
size_t text_head_bytes(const char *text, size_t columns);

/*
 * Where a text that is too long is cut: names in the middle, paths at the head, sentences at the
 * tail.
 */
enum text_cut { CUT_TAIL, CUT_MIDDLE, CUT_HEAD };

/* Cleans the text and cuts it to `columns`. Returns `to`. */
char *text_fit(char *to, size_t bytes, const char *text, size_t columns, enum text_cut cut);

#endif
