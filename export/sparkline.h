/* A chart of one line of text. */
#ifndef EXPORT_SPARKLINE_H
#define EXPORT_SPARKLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether the user's terminal shows UTF-8, by LC_ALL, LC_CTYPE and LANG. */
bool sparkline_has_blocks(void);

/*
 * Writes the last `columns` values as bars, from 0 to the largest of them, one column each. Fewer
 * values are at the right. `has_blocks`: bars of Unicode's block elements, else of ASCII
 * characters. Returns `to`.
 */
char *sparkline(char *to, size_t bytes, const int64_t *at, size_t n, size_t columns,
		bool has_blocks);

#endif
