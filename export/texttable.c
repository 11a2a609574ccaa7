/* Prints tables that fit the screen. See textout.h. */
#include "export/textout.h"

#include <ctype.h>
#include <stdarg.h>

enum { GAP = 2, NARROWEST = 8, INDENT = 2 };

void table_start(struct text_table *t, const struct text_column *columns, unsigned n_columns)
{
	memset(t, 0, sizeof(*t));
	t->columns = columns;
	t->n_columns = n_columns;
}

void table_cell(struct text_table *t, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	vec_push(&t->cells, mem_text(text));
	if (t->cells.n % t->n_columns == 0)
		vec_push(&t->notes, NULL);
}

void table_note(struct text_table *t, const char *text)
{
	free(t->notes.at[t->notes.n - 1]);
	t->notes.at[t->notes.n - 1] = *text ? mem_text(text) : NULL;
}

/* Gives each column the width of its widest cell. Then narrows columns until the table fits: always
 * the widest one of those whose cells may be cut. */
static void find_widths(const struct text_table *t, size_t room, size_t *widths)
{
	size_t sum = (t->n_columns - 1) * GAP;
	for (unsigned c = 0; c < t->n_columns; c++)
		widths[c] = text_width(t->columns[c].heading);
	for (size_t i = 0; i < t->cells.n; i++) {
		size_t width = text_width(t->cells.at[i]);
		if (width > widths[i % t->n_columns])
			widths[i % t->n_columns] = width;
	}
	for (unsigned c = 0; c < t->n_columns; c++)
		sum += widths[c];
	for (; sum > room; sum--) {
		size_t *widest = NULL;
		for (unsigned c = 0; c < t->n_columns; c++)
			if (t->columns[c].kind >= COLUMN_TEXT && (!widest || widths[c] > *widest))
				widest = &widths[c];
		if (!widest || *widest <= NARROWEST)
			break;
		(*widest)--;
	}
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_inside_character(const char *at)
{
	return (*at & 0xc0) == 0x80;
}

/* Cuts out the middle of the text. Keeps the head, and the part that differs from `other`. */
static void fit_difference(char *to, const char *text, const char *other, size_t width)
{
	char part[TEXT_BYTES / 2];
	size_t head = width / 4, at = 0;
	while (text[at] && text[at] == other[at])
		at++;
	while (at && is_inside_character(text + at))
		at--;
	while (at > head && is_word(text[at - 1]))
		at--;
	while (head && is_inside_character(text + head))
		head--;
	if (at <= head + strlen("...")) {
		text_fit(to, TEXT_BYTES, text, width, CUT_TAIL);
		return;
	}
	text_fit(part, sizeof(part), text + at, width - head - strlen("..."), CUT_TAIL);
	snprintf(to, TEXT_BYTES, "%.*s...%s", (int)head, text, part);
}

/* Cuts a name so that it does not look like another name in the column. */
static void fit_name(const struct text_table *t, const char *text, unsigned column, size_t width,
		     char *to)
{
	char other[TEXT_BYTES];
	text_fit(to, TEXT_BYTES, text, width, CUT_MIDDLE);
	if (text_width(text) <= width)
		return;
	for (size_t i = column; i < t->cells.n; i += t->n_columns) {
		if (!strcmp(t->cells.at[i], text))
			continue;
		text_fit(other, sizeof(other), t->cells.at[i], width, CUT_MIDDLE);
		if (!strcmp(to, other)) {
			fit_difference(to, text, t->cells.at[i], width);
			return;
		}
	}
}

static size_t put_cell(char *line, size_t used, const struct text_table *t, unsigned column,
		       const char *text, size_t width)
{
	static const enum text_cut cuts[] = { [COLUMN_WORD] = CUT_TAIL,
					      [COLUMN_NUMBER] = CUT_TAIL,
					      [COLUMN_TEXT] = CUT_TAIL,
					      [COLUMN_NAME] = CUT_MIDDLE,
					      [COLUMN_PLACE] = CUT_HEAD };
	const struct text_column *c = &t->columns[column];
	bool is_last = column + 1 == t->n_columns;
	char cell[TEXT_BYTES];
	if (c->kind == COLUMN_NAME)
		fit_name(t, text, column, width, cell);
	else
		text_fit(cell, sizeof(cell), text, width, cuts[c->kind]);
	size_t taken = text_width(cell), blanks = width > taken ? width - taken : 0;
	int before = c->kind == COLUMN_NUMBER ? (int)blanks : 0,
	    after = is_last ? 0 : (int)(blanks + GAP) - before;
	snprintf(line + used, TEXT_BYTES - used, "%*s%s%*s", before, "", cell, after, "");
	return used + strlen(line + used);
}

static void put_row(const struct text_table *t, struct textout *o, const char *const *cells,
		    const size_t *widths, enum text_style style)
{
	char line[TEXT_BYTES] = "";
	size_t used = 0;
	for (unsigned c = 0; c < t->n_columns; c++)
		used = put_cell(line, used, t, c, cells[c], widths[c]);
	text_line(o, style, "%*s%s", INDENT, "", line);
}

void table_free(struct text_table *t)
{
	for (size_t i = 0; i < t->cells.n; i++)
		free(t->cells.at[i]);
	for (size_t i = 0; i < t->notes.n; i++)
		free(t->notes.at[i]);
	vec_free(&t->cells);
	vec_free(&t->notes);
}

void table_end(struct text_table *t, struct textout *o)
{
	size_t widths[TEXT_TABLE_COLUMNS], n_rows = t->cells.n / t->n_columns;
	size_t margin = o->margin ? strlen(o->margin) : 0;
	const char *headings[TEXT_TABLE_COLUMNS];
	find_widths(t, TEXT_COLUMNS - margin - INDENT, widths);
	for (unsigned c = 0; c < t->n_columns; c++)
		headings[c] = t->columns[c].heading;
	if (n_rows)
		put_row(t, o, headings, widths, TEXT_DIM);
	for (size_t r = 0; r < n_rows; r++) {
		put_row(t, o, (const char *const *)t->cells.at + r * t->n_columns, widths,
			TEXT_PLAIN);
		if (t->notes.at[r])
			text_line(o, TEXT_DIM, "%*s%s", 2 * INDENT, "", t->notes.at[r]);
	}
	table_free(t);
}
