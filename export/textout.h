/*
 * Text for people: lines that are never wider than the screen, colour where it is wanted, tables that fit. Whatever comes from
 * the profiled program (names, source lines) is cleaned of control characters on the way.
 */
#ifndef EXPORT_TEXTOUT_H
#define EXPORT_TEXTOUT_H

#include "core/util/vec.h"

#include <stdbool.h>
#include <stdio.h>

enum { TEXT_COLUMNS = 80, TEXT_BYTES = 1024 /* of one line, escapes and UTF-8 included */ };

enum text_style { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_RED, TEXT_GREEN };

struct textout {
	FILE *to;
	const char *margin; /* before every line */
	bool has_colour;
	unsigned n_lines; /* written so far */
};

/* Whether `fd` is a terminal that takes colour: NO_COLOR and TERM=dumb say no. */
bool text_wants_colour(int fd);

/* Columns that it takes on a terminal, once cleaned. */
size_t text_width(const char *text);

/* Where something too long loses characters: names in the middle, paths at their head, sentences at their tail. */
enum text_cut { CUT_TAIL, CUT_MIDDLE, CUT_HEAD };

/* Cleaned, and cut to `columns`. Returns `to`. */
char *text_fit(char *to, size_t bytes, const char *text, size_t columns, enum text_cut cut);

/* One line, cut at the screen's edge. */
__attribute__((format(printf, 3, 4))) void text_line(struct textout *o, enum text_style style,
						     const char *format, ...);

/* Words on as many lines as they need, `most` at most; `lead` before the first, blanks as wide before the others. */
void text_wrap(struct textout *o, enum text_style style, const char *lead, const char *text,
	       unsigned most);

/* Plain words on two lines where one is too narrow. */
__attribute__((format(printf, 3, 4))) void text_say(struct textout *o, const char *lead,
						    const char *format, ...);

/* ---- Tables ---- */

/* The last three give way where the table is too wide, the widest first: cut at the tail, in the middle, at the head. */
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
	VEC(char *) notes; /* a line under a row, NULL: none */
};

void table_start(struct text_table *t, const struct text_column *columns, unsigned n_columns);
__attribute__((format(printf, 2, 3))) void table_cell(struct text_table *t, const char *format,
						      ...);
/* After a row's last cell. */
void table_note(struct text_table *t, const char *text);
/* Prints it and frees it. Nothing at all if it has no rows. */
void table_end(struct text_table *t, struct textout *o);

#endif
