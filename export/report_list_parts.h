/*
 * A list of the report is described by a table of its columns. Each column names the member that it
 * shows, and the function that writes its cells.
 */
#ifndef EXPORT_REPORT_LIST_PARTS_H
#define EXPORT_REPORT_LIST_PARTS_H

#include "export/report_lists.h"

#include <stddef.h>

enum { NUMBER_BYTES = 32, PLACE_BYTES = 600 }; /* of the texts of cells */

struct row {
	const struct report_view *v;
	struct text_table *t;
	const char *item; /* an item of the list, a struct */
};

struct list_column {
	const char *heading;
	enum column_kind kind;
	void (*cell)(const struct row *r, size_t member);
	size_t member; /* offset of the member in the item */
};

struct report_list {
	const struct list_column *columns;
	unsigned n_columns;
	size_t item_bytes;
	void (*note)(const struct row *r); /* writes a line below each row; NULL: none */
	const char *legend;		   /* text below the table; NULL: none */
	/* offset of the milliseconds by which the items are sorted; items that would be shown as
	 * 0.000 are left out; 0: all items are shown */
	size_t sorted_by_ms;
};

/* ---- Members of an item ---- */

double list_number(const struct row *r, size_t member);
int64_t list_integer(const struct row *r, size_t member);
bool list_truth(const struct row *r, size_t member);
const char *list_text(const struct row *r, size_t member);

/* ---- Cells of most lists ---- */

void list_cell_text(const struct row *r, size_t member);
void list_cell_integer(const struct row *r, size_t member);
void list_cell_ms(const struct row *r, size_t member);
/* Writes a cell with the average per call. `ms`: time per step. `per_step`: calls per step. */
void list_cell_average(const struct row *r, double ms, double per_step);
void list_cell_number(const struct row *r, size_t member);
void list_cell_percent(const struct row *r, size_t member);
void list_cell_bytes(const struct row *r, size_t member);
void list_cell_place(const struct row *r, size_t member);
void list_cell_place_or_dash(const struct row *r, size_t member);

/* A list has these columns only if the number is known of any item. */
void list_cell_known_ms(const struct row *r, size_t member);
void list_cell_known_number(const struct row *r, size_t member);
/* Writes the average time per call of an operator. */
void list_cell_operator_average(const struct row *r, size_t member);
/* Also writes that average. There is room either for it or for the column before it, so it is shown
 * if that one is not. */
void list_cell_host_average(const struct row *r, size_t member);

#define N(array) (sizeof(array) / sizeof(*(array)))

/* Defines report_list_NAME with the columns NAME_columns. Its items are structs `of`. */
#define TABLE(name, of, ...)                                                             \
	const struct report_list report_list_##name = { .columns = name##_columns,       \
							.n_columns = N(name##_columns),  \
							.item_bytes = sizeof(struct of), \
							__VA_ARGS__ }

#endif
