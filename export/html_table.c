/* See html_table.h. */
#include "export/html_table.h"

#include "export/html_cell.h"
#include "export/report_words.h"

#include <math.h>

enum { BASIS_BYTES = 80 };

const char *html_per_step(const struct html_view *v)
{
	return v->is_unit ? "in the whole run" : "per step";
}

void html_basis(const struct html_view *v)
{
	char mean[BASIS_BYTES];
	if (v->is_unit) {
		html_raw(v->out, "<p class=\"note\">In the whole run.</p>\n");
		return;
	}
	report_mean_of(mean, sizeof(mean), v->of);
	html_rawf(v->out, "<p class=\"note\">Per step%s.</p>\n",
		  *mean ? mean : ", mean of the recorded steps");
}

void html_heading(const struct html_view *v, const char *level, const char *id, const char *title)
{
	html_rawf(v->out, "<%s id=\"p%u-%s\">", level, v->number, id);
	html_text(v->out, title);
	html_rawf(v->out, "</%s>\n", level);
}

static bool is_shown(const struct html_column *c, const json_t *rows)
{
	size_t i;
	const json_t *row;
	for (i = 0; (row = json_array_get(rows, i)); i++)
		if (html_cell_has(c, row))
			return true;
	return false;
}

/* Returns the number of columns to show; stores them in `shown`. */
static size_t choose(const struct html_list *list, const json_t *rows,
		     const struct html_column *shown[HTML_COLUMNS])
{
	size_t n = 0;
	for (size_t i = 0; i < HTML_COLUMNS && list->columns[i].heading; i++)
		if (is_shown(&list->columns[i], rows))
			shown[n++] = &list->columns[i];
	return n;
}

static void write_head(const struct html_view *v, const struct html_column *const *columns,
		       size_t n)
{
	struct html_out *o = v->out;
	html_raw(o, "<thead><tr>");
	for (size_t i = 0; i < n; i++) {
		html_rawf(o, "<th scope=\"col\"%s data-key=\"%s\"",
			  columns[i]->kind >= HTML_NUMBER ? " class=\"n\"" : "", columns[i]->key);
		if (columns[i]->meaning) {
			html_raw(o, " title=\"");
			html_text(o, strcmp(columns[i]->meaning, "per step") ? columns[i]->meaning
									     : html_per_step(v));
			html_raw(o, "\"");
		}
		html_raw(o, ">");
		html_text(o, columns[i]->heading);
		html_raw(o, "</th>");
	}
	html_raw(o, "</tr></thead>\n");
}

static double largest(const struct html_column *c, const json_t *rows)
{
	size_t i;
	const json_t *row;
	double most = 0;
	for (i = 0; (row = json_array_get(rows, i)); i++)
		most = fmax(most, html_number_at(row, c->key));
	return most;
}

void html_rows_write(const struct html_view *v, const struct html_list *list, const json_t *rows)
{
	const struct html_column *columns[HTML_COLUMNS];
	double most[HTML_COLUMNS];
	size_t n = choose(list, rows, columns), i;
	const json_t *row;
	html_rawf(v->out,
		  "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">"
		  "<table data-list=\"%s\">\n",
		  list->title, list->path);
	write_head(v, columns, n);
	for (size_t c = 0; c < n; c++)
		most[c] = columns[c]->kind == HTML_BAR_MS ? largest(columns[c], rows) : 0;
	html_raw(v->out, "<tbody>\n");
	for (i = 0; (row = json_array_get(rows, i)); i++) {
		html_raw(v->out, "<tr>");
		for (size_t c = 0; c < n; c++)
			html_cell_write(v, columns[c], row, most[c]);
		html_raw(v->out, "</tr>\n");
	}
	html_raw(v->out, "</tbody></table></div>\n");
}

size_t html_list_write(const struct html_view *v, const struct html_list *list)
{
	const json_t *rows = html_at(v->process, list->path);
	size_t n = json_array_size(rows);
	if (!n)
		return 0;
	html_raw(v->out, "<section class=\"list\">");
	html_heading(v, "h3", list->id, list->title);
	if (list->note)
		html_rawf(v->out, "<p class=\"note\">%s</p>\n", list->note);
	html_rows_write(v, list, rows);
	html_raw(v->out, "</section>\n");
	return n;
}
