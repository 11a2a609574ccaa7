/* Finds the valid name that was probably meant by a mistyped name. */
#ifndef CORE_SPELLING_H
#define CORE_SPELLING_H

#include <stddef.h>

/* Returns the Levenshtein distance of two words. If a word has more than 40 characters, returns
 * 40. */
unsigned spelling_distance(const char *a, const char *b);

/* Returns the largest distance at which `word` counts as a mistyped form of another word. It is
 * smaller for short words. */
unsigned spelling_tolerance(const char *word);

/*
 * Writes a text such as " (did you mean sync?)" if `text` is a mistyped form of one of `words`,
 * which are separated by '|'. Otherwise writes "". Returns `to`, which has room for `bytes`.
 */
char *spelling_did_you_mean(char *to, size_t bytes, const char *text, const char *words);
enum { SPELLING_MEANT_BYTES = 64 };

#endif
