/* See report_lists.h and report_list_parts.h. */
#include "export/report_list_parts.h"

#include "core/util/vec.h"
#include "export/report_sort.h"
#include "export/report_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LEGEND_LINES = 3 };

/* ---- Any list ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), n_end = strlen(end);
	return n >= n_end && !strcmp(text + n - n_end, end);
}

/*
 * Prints the title of a list. Lists cover all recorded steps. If the first screen covers fewer
 * steps, the title says so. Memory growth (bytes per step) covers the whole run and needs no such
 * remark.
 */
void report_heading(const struct report_view *v, const char *title)
{
	char mean[80] = "";
	bool is_per_step = ends_with(title, "per step") && !ends_with(title, "bytes per step"),
	     is_unit = is_per_step && report_is_unit(v->process);
	if (is_per_step)
		report_mean_of(mean, sizeof(mean), v->process);
	text_line(v->out, TEXT_PLAIN, "%s", "");
	text_line(v->out, TEXT_BOLD, "%.*s%s%s",
		  (int)(strlen(title) - (is_unit ? strlen("per step") : 0)), title,
		  is_unit ? "in the whole run" : "", mean);
}

double list_number(const struct row *r, size_t member)
{
	double value;
	memcpy(&value, r->item + member, sizeof(value));
	return value;
}

static bool is_any(const struct report_list *list, const struct list_column *c, const char *items,
		   size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isfinite(list_number(&(struct row){ .item = items + i * list->item_bytes },
					 c->member)))
			return true;
	return false;
}

static bool is_shown(const struct report_list *list, const struct list_column *c, const char *items,
		     size_t n)
{
	if (c->cell == list_cell_known_ms || c->cell == list_cell_known_number)
		return is_any(list, c, items, n);
	return c->cell != list_cell_host_average || !is_any(list, c - 1, items, n);
}

static void say_row(const struct report_list *list, const struct row *r, const bool *is_column)
{
	for (unsigned c = 0; c < list->n_columns; c++)
		if (is_column[c])
			list->columns[c].cell(r, list->columns[c].member);
	if (list->note)
		list->note(r);
}

/* Returns the number of items that are not shown as 0.000 ms. */
static size_t n_visible(const struct report_list *list, const char *items, size_t n)
{
	while (list->sorted_by_ms && n &&
	       list_number(&(struct row){ .item = items + (n - 1) * list->item_bytes },
			   list->sorted_by_ms) < REPORT_LEAST_MS)
		n--;
	return n;
}

/* Returns the column to sort by; NULL: the list keeps its order. */
static const struct list_column *
sorted_column(const struct report_view *v, const struct report_list *list, const bool *is_column)
{
	for (unsigned c = 0; v->sort && c < list->n_columns; c++)
		if (is_column[c] && !strcasecmp(list->columns[c].heading, v->sort))
			return &list->columns[c];
	return NULL;
}

/* Returns the n items in the order in which they are shown. The caller frees the result. */
static struct sort_row *order_items(const struct report_view *v, const struct report_list *list,
				    const struct list_column *by, const char *items, size_t n)
{
	struct sort_row *rows = mem_zero(n * sizeof(*rows));
	struct text_table cells;
	for (size_t i = 0; i < n; i++)
		rows[i].index = i;
	if (!by)
		return rows;
	*v->has_sorted = true;
	table_start(&cells, &(struct text_column){ by->heading, by->kind }, 1);
	for (size_t i = 0; i < n; i++)
		by->cell(&(struct row){ v, &cells, items + i * list->item_bytes }, by->member);
	for (size_t i = 0; i < n; i++)
		rows[i].shown = cells.cells.at[i];
	report_sort(rows, n, by->kind == COLUMN_NUMBER);
	table_free(&cells);
	return rows;
}

void report_list_say(const struct report_view *v, const struct report_list *list, const void *items,
		     size_t n, const char *title)
{
	struct text_table t;
	struct text_column columns[TEXT_TABLE_COLUMNS];
	bool is_column[TEXT_TABLE_COLUMNS] = { 0 };
	unsigned n_columns = 0;
	n = n_visible(list, items, n);
	size_t shown = n < v->top ? n : v->top;
	if (!n)
		return;
	report_heading(v, title);
	for (unsigned c = 0; c < list->n_columns; c++) {
		const struct list_column *from = &list->columns[c];
		is_column[c] = is_shown(list, from, items, n);
		if (is_column[c])
			columns[n_columns++] = (struct text_column){ from->heading, from->kind };
	}
	struct sort_row *order = order_items(v, list, sorted_column(v, list, is_column), items, n);
	table_start(&t, columns, n_columns);
	for (size_t i = 0; i < shown; i++) {
		const char *item = (const char *)items + order[i].index * list->item_bytes;
		say_row(list, &(struct row){ v, &t, item }, is_column);
	}
	table_end(&t, v->out);
	free(order);
	if (n > shown)
		text_line(v->out, TEXT_DIM, "  and %zu more (--top %zu)", n - shown, n);
	if (list->legend)
		text_wrap(v->out, TEXT_DIM, "  ", list->legend, LEGEND_LINES);
}

/* ---- Cells of most lists ---- */

int64_t list_integer(const struct row *r, size_t member)
{
	int64_t value;
	memcpy(&value, r->item + member, sizeof(value));
	return value;
}

bool list_truth(const struct row *r, size_t member)
{
	return r->item[member] != 0;
}

const char *list_text(const struct row *r, size_t member)
{
	const char *text;
	memcpy(&text, r->item + member, sizeof(text));
	return text;
}

static const struct report_place *list_place(const struct row *r, size_t member)
{
	return (const struct report_place *)(const void *)(r->item + member);
}

void list_cell_text(const struct row *r, size_t member)
{
	table_cell(r->t, "%s", list_text(r, member));
}

void list_cell_integer(const struct row *r, size_t member)
{
	table_cell(r->t, "%lld", (long long)list_integer(r, member));
}

void report_cell_ms(struct text_table *t, double ms)
{
	char text[NUMBER_BYTES];
	table_cell(t, "%s", report_ms_or_dash(text, sizeof(text), ms));
}

void list_cell_ms(const struct row *r, size_t member)
{
	report_cell_ms(r->t, list_number(r, member));
}

void list_cell_average(const struct row *r, double ms, double per_step)
{
	report_cell_ms(r->t, per_step > 0 ? ms / per_step : NAN);
}

static void list_cell_with_unit(const struct row *r, size_t member, const char *unit)
{
	double value = list_number(r, member);
	int digits = value == round(value) ? 0 : 1;
	if (isfinite(value))
		table_cell(r->t, "%.*f%s", digits, value, unit);
	else
		table_cell(r->t, "-");
}

void list_cell_number(const struct row *r, size_t member)
{
	list_cell_with_unit(r, member, "");
}

void list_cell_known_number(const struct row *r, size_t member)
{
	list_cell_number(r, member);
}

void list_cell_percent(const struct row *r, size_t member)
{
	list_cell_with_unit(r, member, " %");
}

void list_cell_bytes(const struct row *r, size_t member)
{
	char text[NUMBER_BYTES];
	table_cell(r->t, "%s", report_bytes(text, sizeof(text), list_number(r, member)));
}

void list_cell_place(const struct row *r, size_t member)
{
	char place[PLACE_BYTES];
	table_cell(r->t, "%s",
		   report_place(place, sizeof(place), list_place(r, member), r->v->cwd));
}

void list_cell_place_or_dash(const struct row *r, size_t member)
{
	const struct report_place *p = list_place(r, member);
	if (*p->file || *p->function)
		list_cell_place(r, member);
	else
		table_cell(r->t, "-");
}

void list_cell_known_ms(const struct row *r, size_t member)
{
	list_cell_ms(r, member);
}

void list_cell_operator_average(const struct row *r, size_t member)
{
	const struct report_operator *x = (const struct report_operator *)(const void *)r->item;
	list_cell_average(r, list_number(r, member), x->per_step);
}

void list_cell_host_average(const struct row *r, size_t member)
{
	list_cell_operator_average(r, member);
}
