/* Prints text: lines and tables that fit the screen, with optional colour. Removes control
 * characters from texts of the profiled program, such as names and source lines. */
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
	const char *margin;	  /* printed before every line; NULL: nothing */
	const char *title_margin; /* printed before a title in place of `margin`; NULL: `margin` */
	bool has_colour;
	unsigned terse;	  /* 0: print everything; else leave out more, so that a screen fits */
	unsigned n_lines; /* number of lines written so far */
};

/* Returns whether `fd` is a terminal with colour. NO_COLOR and TERM=dumb switch colour off. */
bool text_wants_colour(int fd);

/* Prints one line, cut at the screen's edge. */
__attribute__((format(printf, 3, 4))) void text_line(struct textout *o, enum text_style style,
						     const char *format, ...);

/* Prints one line in bold after the title's margin, cut at the screen's edge. */
__attribute__((format(printf, 2, 3))) void text_title(struct textout *o, const char *format, ...);
/* Returns how many columns a title may have. */
size_t text_title_columns(const struct textout *o);

/* Returns how many bytes of the cleaned text fit on a line of `columns`: up to the last blank that
 * fits and is not between a number and its unit, or a part of a word that is too long. */
size_t text_line_bytes(const char *text, size_t columns);

/* Prints words on as many lines as they need, up to `most`. The first line begins with `lead`, the
 * others with blanks of the same width. */
void text_wrap(struct textout *o, enum text_style style, const char *lead, const char *text,
	       unsigned most);

/* Prints plain words on up to two lines. */
__attribute__((format(printf, 3, 4))) void text_say(struct textout *o, const char *lead,
						    const char *format, ...);

/* ---- Tables ---- */

/* If a table is too wide, it is narrowed, the widest column first. Only cells of the last three
 * kinds are cut: text at its tail, names in the middle, places at their head. */
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
	VEC(char *) notes; /* line below the row; one entry per row; NULL: none */
};

/* Starts an empty table. `columns` must stay valid until table_end(). */
void table_start(struct text_table *t, const struct text_column *columns, unsigned n_columns);
/* Adds the next cell. Rows are filled from left to right, one after the other. */
__attribute__((format(printf, 2, 3))) void table_cell(struct text_table *t, const char *format,
						      ...);
/* Adds a line below the current row; call it after the row's last cell. */
void table_note(struct text_table *t, const char *text);
void table_free(struct text_table *t);
/* Prints the table, if it has rows, and frees it. */
void table_end(struct text_table *t, struct textout *o);

#endif
