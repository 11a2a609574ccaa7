/* The median of integers, which several parts of the search use. */
#include "core/steps/levels_find.h"

#include <stdlib.h>

static int compare_values(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

int64_t levels_median(int64_t *values, uint32_t n)
{
	qsort(values, n, sizeof(*values), compare_values);
	return values[n / 2];
}
