/*
 * The status line of a run on a terminal. The application writes to the same terminal at any time,
 * and its output must stay intact. So the status line has the terminal's last row for itself: the
 * scrolling region is all other rows, and each update saves and restores the cursor. On a terminal
 * of unknown size or without escape sequences, the status line is written over the current line,
 * and the cursor returns to the line's start.
 *
 * Nothing is written while the run is in the background, or while the application reads single keys
 * (an editor, a pager, a debugger).
 */
#include "core/runtime/ranks.h"
#include "core/util/path.h"
#include "core/util/text.h"
#include "export/foreground.h"
#include "export/print.h"
#include "export/progress_words.h"
#include "export/report_words.h"
#include "export/run.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum {
	ANSWER_WITHIN_MS = 20, /* a busy collector's answer is shown one second later */
	LEAST_ROWS = 5,
	LEAST_COLUMNS = 40,
	PLAIN_COLUMNS = 80, /* of a terminal of unknown size */
	COMMAND_COLUMNS = 40,
	FOLDER_COLUMNS = 60,
};

static void put(const char *text)
{
	size_t n = strlen(text);
	/* one call, so that no output of the application comes in between */
	if (write(STDERR_FILENO, text, n) < 0)
		return; /* the terminal is gone, which SIGHUP tells the application */
}

/* ---- Whether and where to write ---- */

static const char *variable(void *unused, const char *name)
{
	(void)unused;
	return getenv(name);
}

/* Ranks whose launchers share a terminal must not all write to it. */
static bool is_one_of_many(void)
{
	const char *rank = ranks_own(variable, NULL, NULL);
	return getenv("PROF_LAUNCHED") || (rank && ranks_number(rank) > 0);
}

static bool has_escapes(void)
{
	const char *term = getenv("TERM");
	return term && *term && strcmp(term, "dumb") != 0;
}

static bool reads_keys(void)
{
	struct termios mode;
	return !tcgetattr(STDERR_FILENO, &mode) && !(mode.c_lflag & ICANON);
}

/* Returns whether the launcher may write to the terminal now. */
static bool may_write(void)
{
	return is_in_foreground() && !reads_keys();
}

/* ---- The terminal's last row ---- */

static void leave_region(struct progress *p)
{
	char text[80];
	if (!p->rows)
		return;
	snprintf(text, sizeof(text), "\0337\033[r\033[%u;1H\033[2K\0338", p->rows);
	put(text);
	p->rows = 0;
}

/* Lets the terminal scroll as a whole for an application that began to read keys: it may draw on
 * all rows. What stands in the last row may be the application's. */
static void abandon_region(struct progress *p)
{
	if (p->rows)
		put("\0337\033[r\0338");
	p->rows = 0;
	p->shown[0] = 0;
}

/* Frees the last row: scrolls by one row if the cursor is there, without moving it sideways. */
static void enter_region(struct progress *p, const struct winsize *size)
{
	char text[80];
	snprintf(text, sizeof(text), "\033D\033[A\0337\033[1;%ur\0338", size->ws_row - 1u);
	put(text);
	p->rows = size->ws_row;
	p->columns = size->ws_col;
}

/* Reads the terminal's size. Makes room for the status line if there is none, and again after the
 * size has changed. */
static void fit_region(struct progress *p)
{
	struct winsize size;
	if (!has_escapes() || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_row < LEAST_ROWS ||
	    size.ws_col < LEAST_COLUMNS)
		return leave_region(p);
	if (p->rows == size.ws_row && p->columns == size.ws_col)
		return;
	leave_region(p);
	enter_region(p, &size);
}

/* ---- The line ---- */

static void clear(struct progress *p)
{
	char text[PLAIN_COLUMNS + 8];
	leave_region(p);
	if (p->plain_width) {
		snprintf(text, sizeof(text), "\r%*s\r", (int)p->plain_width, "");
		put(text);
	}
	p->plain_width = 0;
	p->shown[0] = 0;
}

static void show_plain(struct progress *p, const char *line)
{
	char fitted[TEXT_BYTES], text[TEXT_BYTES + PLAIN_COLUMNS + 8];
	text_fit(fitted, sizeof(fitted), line, PLAIN_COLUMNS - 1, CUT_TAIL);
	size_t width = text_width(fitted),
	       rest = p->plain_width > width ? p->plain_width - width : 0;
	snprintf(text, sizeof(text), "\r%s%*s\r", fitted, (int)rest, "");
	put(text);
	p->plain_width = (unsigned)width;
}

/* The carriage returns do nothing on a terminal. They separate the line from the application's
 * output for readers of a log. */
static void show_in_region(const struct progress *p, const char *line)
{
	char fitted[TEXT_BYTES], text[TEXT_BYTES + 80];
	text_fit(fitted, sizeof(fitted), line, p->columns - 1u, CUT_TAIL);
	snprintf(text, sizeof(text), "\0337\r\033[%u;1H\033[2K%s\r\0338", p->rows, fitted);
	put(text);
}

static void show(struct progress *p)
{
	char line[sizeof(p->latest) + 16];
	unsigned rows = p->rows, columns = p->columns;
	if (!*p->latest || !is_in_foreground())
		return;
	if (reads_keys())
		return abandon_region(p);
	fit_region(p);
	if (rows == p->rows && columns == p->columns && !strcmp(p->latest, p->shown))
		return;
	snprintf(line, sizeof(line), "profrun: %s", p->latest);
	if (p->rows)
		show_in_region(p, line);
	else
		show_plain(p, line);
	snprintf(p->shown, sizeof(p->shown), "%s", p->latest);
}

/* ---- The collector's answers ---- */

/* Reads the answer if it is there. An answer is shorter than a pipe's buffer, so it comes whole. */
static void hear(const struct run *r, struct progress *p)
{
	char text[PROGRESS_BYTES];
	struct pollfd poll_one = { .fd = r->status, .events = POLLIN };
	if (!p->is_asked || poll(&poll_one, 1, ANSWER_WITHIN_MS) <= 0)
		return;
	ssize_t n = read(r->status, text, sizeof(text) - 1);
	if (n <= 0) {
		p->is_on = false; /* the collector has died, which run_finish() reports */
		return clear(p);
	}
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	snprintf(p->latest, sizeof(p->latest), "%s", progress_answer(text));
	p->is_asked = false;
}

static void ask(const struct run *r, struct progress *p)
{
	static const char question[] = PROGRESS_QUESTION "\n";
	if (!p->is_asked && write(r->control, question, sizeof(question) - 1) > 0)
		p->is_asked = true;
}

/* ---- For the launcher ---- */

void run_progress_tick(const struct run *r, struct progress *p)
{
	if (!p->is_on)
		return;
	ask(r, p);
	hear(r, p);
	show(p);
}

static void say_start(const struct run *r)
{
	char cwd[PATH_MAX] = "", command[TEXT_BYTES] = "", fitted[TEXT_BYTES], folder[TEXT_BYTES];
	if (!getcwd(cwd, sizeof(cwd)))
		cwd[0] = 0;
	for (char **word = r->command; *word; word++) {
		size_t used = strlen(command);
		snprintf(command + used, sizeof(command) - used, "%s%s", used ? " " : "",
			 used ? *word : path_base(*word));
	}
	print_err("profrun: profiling %s into %s; Ctrl-C ends it and keeps the report\n",
		  text_fit(fitted, sizeof(fitted), command, COMMAND_COLUMNS, CUT_MIDDLE),
		  text_fit(folder, sizeof(folder), report_short_path(r->folder, cwd),
			   FOLDER_COLUMNS, CUT_HEAD));
}

void run_progress_start(const struct run *r, struct progress *p)
{
	const char *setting = run_setting(r, "PROF_PROGRESS");
	*p = (struct progress){ 0 };
	p->is_on = r->profiles && !r->is_quiet && r->control >= 0 && r->status >= 0 &&
		   isatty(STDERR_FILENO) && !(setting && !strcmp(setting, "off")) &&
		   !is_one_of_many();
	if (p->is_on && may_write())
		say_start(r);
}

/* The terminal must not stay divided. The launcher may have lost the foreground since the line was
 * shown; the signal that would stop it for writing then is blocked. */
void run_progress_pause(struct progress *p)
{
	sigset_t one, before;
	if (may_write())
		return clear(p);
	sigemptyset(&one);
	sigaddset(&one, SIGTTOU);
	sigprocmask(SIG_BLOCK, &one, &before);
	abandon_region(p);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void run_progress_end(struct progress *p)
{
	run_progress_pause(p);
	p->is_on = false;
}
