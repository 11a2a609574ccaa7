/* Mistyped names: which of the valid ones was meant. */
#ifndef CORE_SPELLING_H
#define CORE_SPELLING_H

#include <stddef.h>

/* Levenshtein distance of two short words; a large number where one has more than 40 characters. */
unsigned spelling_distance(const char *a, const char *b);

/* The largest distance at which `word` counts as a mistyping of another. Short words allow less. */
unsigned spelling_tolerance(const char *word);

/* Writes " (did you mean sync?)" if `text` is a mistyping of one of `words`, which '|' separates;
 * else "". Returns `to`. */
char *spelling_did_you_mean(char *to, size_t bytes, const char *text, const char *words);
enum { SPELLING_MEANT_BYTES = 64 };

#endif
