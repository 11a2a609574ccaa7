/* Lists of ranges: range_utils.py. Both inputs of the last two functions are in ascending order. */
#include "core/peers/plugin_parts.h"

#include <string.h>

struct numbered {
	struct plugin_range range;
	size_t number;
};

static int by_begin(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;
	if (x->range.begin < y->range.begin || x->range.begin > y->range.begin)
		return x->range.begin < y->range.begin ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

plugin_ranges plugin_merge(plugin_ranges *list)
{
	plugin_ranges found = { 0 };
	struct numbered *sorted = mem_resize(NULL, list->n * sizeof(*sorted));
	for (size_t i = 0; i < list->n; i++)
		sorted[i] = (struct numbered){ list->at[i], i };
	qsort(sorted, list->n, sizeof(*sorted), by_begin);
	for (size_t i = 0; i < list->n; i++) {
		struct plugin_range r = sorted[i].range;
		if (i && r.end <= found.at[found.n - 1].end)
			continue;
		if (i && r.begin <= found.at[found.n - 1].end)
			found.at[found.n - 1].end = r.end;
		else
			vec_push(&found, r);
	}
	free(sorted);
	return found;
}

/* Moves to the next range of the list. */
#define NEXT(list, i, range)                     \
	do {                                     \
		if (++(i) < (list)->n)           \
			(range) = (list)->at[i]; \
	} while (0)

plugin_ranges plugin_intersect(const plugin_ranges *a, const plugin_ranges *b)
{
	plugin_ranges found = { 0 };
	size_t i = 0, j = 0;
	if (!a->n || !b->n)
		return found;
	struct plugin_range x = a->at[0], y = b->at[0];
	while (i < a->n && j < b->n) {
		if (y.end <= x.begin) {
			NEXT(b, j, y);
		} else if (y.begin >= x.end && y.begin > x.begin) {
			NEXT(a, i, x);
		} else {
			struct plugin_range both = { x.begin > y.begin ? x.begin : y.begin,
						     x.end < y.end ? x.end : y.end };
			vec_push(&found, both);
			if (y.end < x.end) {
				x.begin = y.end;
				NEXT(b, j, y);
			} else {
				y.begin = x.end;
				NEXT(a, i, x);
			}
		}
	}
	return found;
}

plugin_ranges plugin_subtract(const plugin_ranges *a, const plugin_ranges *b)
{
	plugin_ranges found = { 0 };
	size_t i = 0, j = 0;
	struct plugin_range x = { 0 }, y = { 0 };
	if (a->n)
		x = a->at[0];
	if (b->n)
		y = b->at[0];
	while (i < a->n) {
		if (j >= b->n || (y.end > x.begin && y.begin > x.begin && y.begin >= x.end)) {
			vec_push(&found, x);
			NEXT(a, i, x);
		} else if (y.end <= x.begin) {
			NEXT(b, j, y);
		} else if (y.begin <= x.begin && y.end < x.end) {
			x.begin = y.end;
			NEXT(b, j, y);
		} else if (y.begin <= x.begin) {
			y.begin = x.end;
			NEXT(a, i, x);
		} else {
			vec_push(&found, (struct plugin_range){ x.begin, y.begin });
			x.begin = y.begin;
		}
	}
	return found;
}

double plugin_sum(const plugin_ranges *list)
{
	double sum = 0;
	for (size_t i = 0; i < list->n; i++)
		sum += list->at[i].end - list->at[i].begin;
	return sum;
}
