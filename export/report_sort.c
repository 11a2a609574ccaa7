/* See report_sort.h. */
#include "export/report_sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Returns what a unit after a number multiplies it by. */
static double factor_of(const char *unit)
{
	static const char prefixes[] = "kMGT";
	unit += strspn(unit, " ");
	const char *at = *unit ? strchr(prefixes, *unit == 'K' ? 'k' : *unit) : NULL;
	bool is_binary = at && unit[1] == 'i';
	if (!at || (unit[1] != 'B' && !is_binary))
		return 1;
	return pow(is_binary ? 1024 : 1000, (double)(at - prefixes + 1));
}

/* Reads a number as reports write it: "1,234", "12.5 MiB", "58 %". */
static double number_of(const char *shown)
{
	char digits[64], *end;
	size_t n = 0;
	for (; *shown && n + 1 < sizeof(digits); shown++)
		if (*shown != ',')
			digits[n++] = *shown;
	digits[n] = 0;
	double value = strtod(digits, &end);
	return end == digits ? -INFINITY : value * factor_of(end);
}

static int by_number(const void *a, const void *b)
{
	const struct sort_row *x = a, *y = b;
	double first = number_of(x->shown), second = number_of(y->shown);
	if (first < second || first > second)
		return first > second ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int by_text(const void *a, const void *b)
{
	const struct sort_row *x = a, *y = b;
	int order = strcasecmp(x->shown, y->shown);
	return order ? order : (x->index > y->index) - (x->index < y->index);
}

void report_sort(struct sort_row *rows, size_t n, bool are_numbers)
{
	if (n)
		qsort(rows, n, sizeof(*rows), are_numbers ? by_number : by_text);
}
