#include "core/runtime/spelling.h"

#include <stdio.h>
#include <string.h>

unsigned spelling_distance(const char *a, const char *b)
{
	enum { LONGEST = 40 };
	unsigned row[LONGEST + 1];
	size_t n = strlen(a), m = strlen(b);
	if (n > LONGEST || m > LONGEST)
		return LONGEST;
	for (unsigned j = 0; j <= m; j++)
		row[j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned diagonal = row[0];
		row[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);
			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[m];
}

unsigned spelling_tolerance(const char *word)
{
	enum { FARTHEST = 3 };
	size_t half = strlen(word) / 2;
	return half < FARTHEST ? (unsigned)half : FARTHEST;
}

char *spelling_did_you_mean(char *to, size_t bytes, const char *text, const char *words)
{
	unsigned least = spelling_tolerance(text) + 1;
	char word[32];
	to[0] = 0;
	for (const char *at = words; *at;) {
		size_t n = strcspn(at, "|");
		snprintf(word, sizeof(word), "%.*s", (int)n, at);
		unsigned d = spelling_distance(text, word);
		if (d < least) {
			least = d;
			snprintf(to, bytes, " (did you mean %s?)", word);
		}
		at += n + (at[n] == '|');
	}
	return to;
}
