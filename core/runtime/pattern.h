/*
 * Compiles the regular expressions that users give. glibc's regcomp() copies what is repeated, so
 * the memory that a repetition of a repetition takes grows exponentially: sixty '+' in a row take
 * gigabytes. Such patterns are refused.
 */
#ifndef CORE_PATTERN_H
#define CORE_PATTERN_H

#include <regex.h>

/*
 * Compiles an extended regular expression without groups to report. Returns 0, or a code for
 * pattern_why(); free `out` with regfree() only if 0 was returned.
 */
int pattern_compile(regex_t *out, const char *pattern);

/* Writes why pattern_compile() returned `code`. */
void pattern_why(int code, char *to, size_t bytes);

#endif
