/*
 * Text output: lines and tables that fit the screen, optional colour. Control characters are
 * removed from texts of the profiled program, such as names and source lines.
 */
#ifndef EXPORT_TEXTOUT_H
#define EXPORT_TEXTOUT_H

#include "core/util/text.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stdio.h>

enum { TEXT_COLUMNS = 80 };

enum text_style { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_RED, TEXT_GREEN };

struct textout {
	FILE *to;
	const char *margin; /* before every line */
	bool has_colour;
	unsigned n_lines; /* written so far */
};

/* Returns whether `fd` is a terminal with colour; NO_COLOR and TERM=dumb switch it off. */
bool text_wants_colour(int fd);

/* Prints one line, cut at the screen's edge. */
__attribute__((format(printf, 3, 4))) void text_line(struct textout *o, enum text_style style,
						     const char *format, ...);

/*
 * Prints words on as many lines as they need, up to `most`: `lead` before the first line, the same
 * width of blanks before others.
 */
void text_wrap(struct textout *o, enum text_style style, const char *lead, const char *text,
	       unsigned most);

/* Prints plain words on up to two lines. */
__attribute__((format(printf, 3, 4))) void text_say(struct textout *o, const char *lead,
						    const char *format, ...);

/* ---- Tables ---- */

/*
 * If a table is too wide, cells of the last three kinds are cut, the widest column first: at the
 * tail, in the middle, at the head.
 */
enum column_kind { COLUMN_WORD, COLUMN_NUMBER, COLUMN_TEXT, COLUMN_NAME, COLUMN_PLACE };

struct text_column {
	const char *heading;
	enum column_kind kind;
};

enum { TEXT_TABLE_COLUMNS = 10 };

struct text_table {
	const struct text_column *columns;
	unsigned n_columns;
	VEC(char *) cells; /* row by row */
	VEC(char *) notes; /* one per row: a line below it; NULL: none */
};

/* Starts an empty table. `columns` must stay until its end. */
void table_start(struct text_table *t, const struct text_column *columns, unsigned n_columns);
/* Adds the next cell, row by row. */
__attribute__((format(printf, 2, 3))) void table_cell(struct text_table *t, const char *format,
						      ...);
/* Adds a line below the row; call it after the row's last cell. */
void table_note(struct text_table *t, const char *text);
/* Prints the table, if it has rows, and frees it. */
void table_end(struct text_table *t, struct textout *o);

#endif
