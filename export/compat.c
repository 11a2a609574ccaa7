/* See compat.h. */
#include "export/compat.h"

#include "core/peers/hta.h"
#include "core/peers/plugin.h"
#include "export/foreign.h"
#include "export/report_json.h"
#include "export/work_progress.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

struct compat_peer {
	const char *name, *tool; /* the tool's name and version */
	int (*analyze)(struct peer_tables *to, const char *const *paths, size_t n, struct err *e);
};

const char compat_names[] = "hta|hta-last-step|tensorboard";

static int analyze_hta(struct peer_tables *to, const char *const *paths, size_t n, struct err *e)
{
	return hta_analyze(to, paths, n, false, e);
}

static int analyze_hta_last(struct peer_tables *to, const char *const *paths, size_t n,
			    struct err *e)
{
	return hta_analyze(to, paths, n, true, e);
}

static const struct compat_peer peers[] = {
	{ "hta", "Holistic Trace Analysis 0.6.1", analyze_hta },
	{ "hta-last-step", "Holistic Trace Analysis 0.6.1, include_last_profiler_step=True",
	  analyze_hta_last },
	{ "tensorboard", "torch-tb-profiler (its last version)", plugin_analyze },
};

const struct compat_peer *compat_find(const char *name)
{
	for (size_t i = 0; i < sizeof(peers) / sizeof(*peers); i++)
		if (!strcmp(peers[i].name, name))
			return &peers[i];
	return NULL;
}

/* ---- JSON ---- */

/* Whole numbers up to this one are exact. */
#define MOST_WHOLE 9007199254740992.0

static json_t *cell_json(const struct peer_cell *c)
{
	if (c->text)
		return report_json_text(c->text);
	if (!isfinite(c->number))
		return json_null();
	if (c->number == rint(c->number) && fabs(c->number) <= MOST_WHOLE)
		return json_integer((json_int_t)c->number);
	return json_real(c->number);
}

static json_t *table_json(const struct peer_table *t)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < t->cells.n; i += t->n_columns) {
		json_t *row = json_object();
		for (unsigned c = 0; c < t->n_columns; c++)
			json_object_set_new(row, t->columns[c], cell_json(&t->cells.at[i + c]));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *tables_json(const struct compat_peer *peer, const struct peer_tables *tables)
{
	json_t *to = json_object();
	json_object_set_new(to, "compat", json_string(peer->name));
	json_object_set_new(to, "tool", json_string(peer->tool));
	for (size_t i = 0; i < tables->list.n; i++)
		json_object_set_new(to, tables->list.at[i]->name, table_json(tables->list.at[i]));
	return to;
}

/* ---- Text ---- */

/* Writes a cell. Numbers have six decimals at most, as pandas prints them. */
static void cell_text(char *to, size_t bytes, const struct peer_cell *c)
{
	if (c->text) {
		snprintf(to, bytes, "%s", c->text);
		return;
	}
	if (!isfinite(c->number)) {
		snprintf(to, bytes, "-");
		return;
	}
	snprintf(to, bytes, "%.6f", c->number);
	size_t n = strlen(to);
	while (to[n - 1] == '0')
		n--;
	to[to[n - 1] == '.' ? n - 1 : n] = 0;
}

static enum column_kind kind_of(const struct peer_table *t, unsigned column)
{
	if (!strcmp(t->columns[column], "name"))
		return COLUMN_NAME;
	for (size_t i = column; i < t->cells.n; i += t->n_columns)
		if (t->cells.at[i].text)
			return COLUMN_WORD;
	return COLUMN_NUMBER;
}

enum { GAP = 2, NAME_COLUMNS = 24 };

/* Returns whether the rows fit on lines, with enough of the names. */
static bool fits(const struct peer_table *t, size_t n_cells)
{
	char cell[TEXT_BYTES];
	size_t sum = 0;
	for (unsigned c = 0; c < t->n_columns; c++) {
		size_t widest = strlen(t->columns[c]);
		for (size_t i = c; i < n_cells; i += t->n_columns) {
			cell_text(cell, sizeof(cell), &t->cells.at[i]);
			widest = strlen(cell) > widest ? strlen(cell) : widest;
		}
		if (kind_of(t, c) == COLUMN_NAME && widest > NAME_COLUMNS)
			widest = NAME_COLUMNS;
		sum += widest + GAP;
	}
	return t->n_columns <= TEXT_TABLE_COLUMNS && sum <= TEXT_COLUMNS;
}

static void print_lines_of(struct textout *o, const struct peer_table *t, size_t n_cells)
{
	struct text_column columns[TEXT_TABLE_COLUMNS];
	struct text_table table;
	char cell[TEXT_BYTES];
	for (unsigned c = 0; c < t->n_columns; c++)
		columns[c] = (struct text_column){ t->columns[c], kind_of(t, c) };
	table_start(&table, columns, t->n_columns);
	for (size_t i = 0; i < n_cells; i++) {
		cell_text(cell, sizeof(cell), &t->cells.at[i]);
		table_cell(&table, "%s", cell);
	}
	table_end(&table, o);
}

/* Prints each row as "rank 0, idle_time(us) 8780, ...". */
static void print_pairs(struct textout *o, const struct peer_table *t, size_t n_cells)
{
	char text[4 * TEXT_BYTES], cell[TEXT_BYTES], cut[TEXT_BYTES];
	for (size_t i = 0; i < n_cells; i += t->n_columns) {
		size_t n = 0;
		for (unsigned c = 0; c < t->n_columns && n < sizeof(text); c++) {
			cell_text(cell, sizeof(cell), &t->cells.at[i + c]);
			text_fit(cut, sizeof(cut), cell, TEXT_COLUMNS / 2, CUT_MIDDLE);
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %s", c ? ", " : "",
					      t->columns[c], cut);
		}
		text_wrap(o, TEXT_PLAIN, "  ", text, UINT_MAX);
	}
}

static void print_table(struct textout *o, const struct peer_table *t, unsigned top)
{
	size_t n_rows = t->cells.n / t->n_columns, n_shown = n_rows < top ? n_rows : top,
	       n_cells = n_shown * t->n_columns;
	text_line(o, TEXT_PLAIN, "%s", "");
	text_line(o, TEXT_BOLD, "%s%s", t->name, n_rows ? "" : ": nothing");
	if (fits(t, n_cells))
		print_lines_of(o, t, n_cells);
	else
		print_pairs(o, t, n_cells);
	if (n_shown < n_rows)
		text_line(o, TEXT_DIM, "  %zu more rows", n_rows - n_shown);
}

/* ---- Both ---- */

int compat_report(const struct compat_peer *peer, const char *path, json_t *list, struct textout *o,
		  unsigned top, struct err *e)
{
	struct foreign_files files;
	struct peer_tables tables = { 0 };
	if (!foreign_is_at(path))
		return err_set(e, -EINVAL,
			       "%.120s: --compat reads traces of torch.profiler; `export --format "
			       "kineto` writes them",
			       path);
	foreign_list(&files, path);
	work_progress_start();
	int error = peer->analyze(&tables, (const char *const *)files.paths.at, files.paths.n, e);
	work_progress_end();
	if (!error && list) {
		json_array_append_new(list, tables_json(peer, &tables));
	} else if (!error) {
		text_line(o, TEXT_BOLD, "As %s computes it (docs/metrics.md)", peer->tool);
		for (size_t i = 0; i < tables.list.n; i++)
			print_table(o, tables.list.at[i], top);
	}
	peer_tables_free(&tables);
	foreign_files_free(&files);
	return error;
}
