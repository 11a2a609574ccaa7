/*
 * The whole terminal as a screen of lines, without ncurses: the alternate screen, no cursor, single
 * keys without echo. Everything is restored when the program ends, also by exit() and by SIGINT,
 * SIGTERM, SIGHUP and SIGQUIT, and while it is stopped by Ctrl-Z. One per program.
 */
#ifndef EXPORT_TERMINAL_H
#define EXPORT_TERMINAL_H

#include "export/textout.h"

#include <stdbool.h>

/* Returns whether stdin and stdout are a terminal with escape sequences. */
bool terminal_is_there(void);

/* Takes the terminal. Returns false, with one line on stderr, if that fails. */
bool terminal_open(void);
/* Gives the terminal back. */
void terminal_close(void);

enum terminal_key {
	KEY_NONE = 0, /* nothing was pressed in time */
	/* other keys are their characters */
	KEY_UP = 256,
	KEY_DOWN,
	KEY_RESIZED, /* the terminal has another size; the screen must be drawn again */
	KEY_END,     /* a signal ended the program, or the terminal is gone */
};

/* Waits up to `wait_ms` for a key. Returns enum terminal_key or a character. */
int terminal_key(int wait_ms);

/* Ends the program as the signal that ended terminal_key() does by default, after
 * terminal_close(). Returns if there was no such signal. */
void terminal_end_by_signal(void);

/* The size; 24 x 80 if it is not known. */
unsigned terminal_rows(void);
unsigned terminal_columns(void);

/* A picture of the screen. */
struct picture {
	unsigned rows, columns;
	struct picture_line {
		char *text;
		enum text_style style;
		bool is_selected; /* shown in reverse video */
	} * lines;
	unsigned n;
};

void picture_start(struct picture *p, unsigned rows, unsigned columns);
/* Adds a line: cleaned, and cut to the columns. Lines that do not fit are dropped. */
__attribute__((format(printf, 3, 4))) void picture_line(struct picture *p, enum text_style style,
							const char *format, ...);
/* Adds words on as many lines as they need, up to `most`. The first line begins with `lead`, the
 * others with blanks of the same width. */
void picture_wrap(struct picture *p, enum text_style style, const char *lead, const char *text,
		  unsigned most);
/* Marks the last line. */
void picture_select(struct picture *p);
/* Adds empty lines up to `row`. */
void picture_skip_to(struct picture *p, unsigned row);
void picture_free(struct picture *p);

/* Shows the picture. Writes it at once, so that the screen does not flicker. */
void terminal_draw(const struct picture *p, bool has_colour);

#endif
