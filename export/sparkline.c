/* See sparkline.h. */
#include "export/sparkline.h"

#include "core/util/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool sparkline_has_blocks(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);
		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

char *sparkline(char *to, size_t bytes, const int64_t *at, size_t n, size_t columns,
		bool has_blocks)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const plain[] = { "_", ".", ",", "-", "=", "+", "*", "#" };
	enum { LEVELS = sizeof(blocks) / sizeof(*blocks) };
	int64_t most = 1;
	size_t shown = n < columns ? n : columns;
	const int64_t *first = at + (n - shown);
	for (size_t i = 0; i < shown; i++)
		most = first[i] > most ? first[i] : most;
	to[0] = 0;
	text_append(to, bytes, "%*s", (int)(columns - shown), "");
	for (size_t i = 0; i < shown; i++) {
		int64_t value = first[i] > 0 ? first[i] : 0;
		size_t level = (size_t)((double)value / (double)most * LEVELS);
		level = level < LEVELS ? level : LEVELS - 1;
		text_append(to, bytes, "%s", has_blocks ? blocks[level] : plain[level]);
	}
	return to;
}
