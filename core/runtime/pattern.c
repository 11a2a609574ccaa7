/* See pattern.h. */
#include "core/runtime/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEEPEST = 64, /* groups within each other */
	/* items that regcomp() may make: its recursion can be as deep */
	SIZE_MOST = 1 << 10,
	CODE_TOO_LARGE = 999, /* no code of regcomp() */
};

/* Returns the end of the bracket expression after '['. */
static const char *end_of_bracket(const char *p)
{
	p += *p == '^';
	p += *p == ']';
	while (*p && *p != ']') {
		const char *end = NULL;
		char closing[] = { p[1], ']', 0 };
		if (*p == '[' && p[1] && strchr(":.=", p[1]))
			end = strstr(p + 2, closing);
		p = end ? end + 2 : p + 1;
	}
	return *p ? p + 1 : p;
}

/* Returns how often the interval after '{' repeats its item, and moves *p past it. */
static double interval(const char **p)
{
	char *end;
	if ((**p < '0' || **p > '9') && **p != ',') /* no interval */
		return 1;
	double most = (double)strtoul(*p, &end, 10);
	if (*end == ',' && end[1] != '}')
		most = (double)strtoul(end + 1, &end, 10);
	const char *close = strchr(*p, '}');
	*p = close ? close + 1 : *p + strlen(*p);
	return most > 1 ? most : 1;
}

/* Returns roughly how many items regcomp() makes of the pattern. */
static double size_of(const char *p)
{
	double sum[DEEPEST] = { 0 }, last = 0;
	int depth = 0;
	while (*p && sum[depth] + last < SIZE_MOST) {
		char c = *p++;
		if (last < 1 && strchr("+*?{)", c)) /* repeats nothing, or an empty group */
			last = 1;
		if (c == '+' || c == '*' || c == '?') {
			last *= 2;
		} else if (c == '{') {
			last *= interval(&p);
		} else if (c == '(' && depth + 1 < DEEPEST) {
			sum[depth++] += last;
			sum[depth] = last = 0;
		} else if (c == '(') {
			return SIZE_MOST;
		} else if (c == ')' && depth) {
			last += sum[depth--];
		} else {
			sum[depth] += last;
			last = 1;
			if (c == '[')
				p = end_of_bracket(p);
			p += c == '\\' && *p;
		}
	}
	return *p ? SIZE_MOST : sum[depth] + last;
}

int pattern_compile(regex_t *out, const char *pattern)
{
	if (size_of(pattern) >= SIZE_MOST)
		return CODE_TOO_LARGE;
	return regcomp(out, pattern, REG_EXTENDED | REG_NOSUB);
}

void pattern_why(int code, char *to, size_t bytes)
{
	if (code == CODE_TOO_LARGE)
		snprintf(to, bytes, "too many repetitions within each other");
	else
		regerror(code, NULL, to, bytes);
}
