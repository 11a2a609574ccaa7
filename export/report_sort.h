/* Sorts the rows of a list by what one of its columns shows (`report --sort COLUMN`). */
#ifndef EXPORT_REPORT_SORT_H
#define EXPORT_REPORT_SORT_H

#include <stdbool.h>
#include <stddef.h>

struct sort_row {
	size_t index;	   /* of the item in its list */
	const char *shown; /* the column's cell, borrowed */
};

/* Sorts numbers in descending order (a cell without a number comes last), other texts in ascending
 * order. Rows that compare equal keep their order. */
void report_sort(struct sort_row *rows, size_t n, bool are_numbers);

#endif
