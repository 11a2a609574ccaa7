/* Finds the exception that ended a Python program in what the program wrote to stderr last. */
#ifndef CORE_LAST_WORDS_H
#define CORE_LAST_WORDS_H

#include "core/runtime/record.h"

#include <stddef.h>

struct last_words {
	/* such as "ValueError: no batch"; the first line of a long message; "": no exception */
	char exception[512];
	/* the innermost frame of the traceback that is not a library's; line 0: there is none */
	char file[1024];
	uint32_t line;
};

/* Finds the exception of the last traceback in `text`. */
void last_words_find(const char *text, struct last_words *to);

/* Returns the last bytes that the process wrote to stderr, in order. The caller frees the text. */
char *last_words_text(const struct journal_header *h);

#endif
