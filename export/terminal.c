/* See terminal.h. */
#include "export/terminal.h"

#include "export/print.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { PLAIN_ROWS = 24, PLAIN_COLUMNS = 80, ESCAPE_MS = 25 };

static struct {
	bool is_open, was_registered;
	struct termios before;
	sigset_t mask; /* with which signals may arrive */
	volatile sig_atomic_t ended_by, was_resized, must_stop;
} terminal;

/* The signals that end the program. A signal that is ignored stays ignored. */
static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static void put(const char *text, size_t n)
{
	while (n) {
		ssize_t done = write(STDOUT_FILENO, text, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return; /* the terminal is gone; terminal_key() notices it */
		text += done;
		n -= (size_t)done;
	}
}

static void put_text(const char *text)
{
	put(text, strlen(text));
}

bool terminal_is_there(void)
{
	const char *term = getenv("TERM");
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

/* ---- Taking and giving back ---- */

static void enter(void)
{
	struct termios keys = terminal.before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
	put_text("\033[?1049h\033[?25l\033[2J");
	terminal.is_open = true;
}

void terminal_close(void)
{
	if (!terminal.is_open)
		return;
	terminal.is_open = false;
	put_text("\033[0m\033[?25h\033[?1049l");
	tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal.before);
}

static void on_signal(int signal)
{
	if (signal == SIGWINCH)
		terminal.was_resized = 1;
	else if (signal == SIGTSTP)
		terminal.must_stop = 1;
	else
		terminal.ended_by = signal;
}

/* Signals arrive only while terminal_key() waits, so none is lost between a check and a wait. */
static void catch_one(int signal, sigset_t *blocked)
{
	struct sigaction now;
	if (!sigaction(signal, NULL, &now) && now.sa_handler == SIG_IGN)
		return;
	sigaction(signal, &(const struct sigaction){ .sa_handler = on_signal }, NULL);
	sigaddset(blocked, signal);
}

bool terminal_open(void)
{
	sigset_t blocked;
	if (tcgetattr(STDIN_FILENO, &terminal.before)) {
		print_err("profrun: cannot use the terminal: %s\n", strerror(errno));
		return false;
	}
	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		catch_one(ending[i], &blocked);
	catch_one(SIGWINCH, &blocked);
	catch_one(SIGTSTP, &blocked);
	sigprocmask(SIG_BLOCK, &blocked, &terminal.mask);
	if (!terminal.was_registered)
		atexit(terminal_close);
	terminal.was_registered = true;
	enter();
	return true;
}

/* Stops as Ctrl-Z does by default, and takes the terminal again when continued. */
static void stop(void)
{
	sigset_t one;
	terminal.must_stop = 0;
	terminal_close();
	sigaction(SIGTSTP, &(const struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	raise(SIGTSTP);
	sigemptyset(&one);
	sigaddset(&one, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &one, NULL); /* stops here */
	sigprocmask(SIG_BLOCK, &one, NULL);
	sigaction(SIGTSTP, &(const struct sigaction){ .sa_handler = on_signal }, NULL);
	enter();
}

void terminal_end_by_signal(void)
{
	int number = terminal.ended_by;
	sigset_t one;
	terminal_close();
	if (!number)
		return;
	signal(number, SIG_DFL);
	raise(number);
	sigemptyset(&one);
	sigaddset(&one, number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* ---- Keys ---- */

/* Returns the next byte, -1 if none comes in time, -2 if the terminal is gone. */
static int next_byte(int wait_ms)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	const struct timespec wait = { wait_ms / 1000, wait_ms % 1000 * 1000000L };
	unsigned char byte;
	if (ppoll(&p, 1, &wait, &terminal.mask) <= 0)
		return -1;
	return read(STDIN_FILENO, &byte, 1) == 1 ? byte : -2;
}

/* An arrow is ESC [ A or ESC O A. Its bytes come together. Other sequences end with a letter or
 * '~', and are ignored. */
static int after_escape(void)
{
	int byte = next_byte(ESCAPE_MS);
	if (byte != '[' && byte != 'O')
		return KEY_NONE;
	do
		byte = next_byte(ESCAPE_MS);
	while (byte >= ' ' && byte < '@');
	return byte == 'A' ? KEY_UP : byte == 'B' ? KEY_DOWN : KEY_NONE;
}

int terminal_key(int wait_ms)
{
	int byte = next_byte(wait_ms);
	if (terminal.must_stop) {
		stop();
		return KEY_RESIZED;
	}
	if (terminal.ended_by || byte == -2)
		return KEY_END;
	if (terminal.was_resized) {
		terminal.was_resized = 0;
		return KEY_RESIZED;
	}
	if (byte == '\033')
		return after_escape();
	return byte < 0 ? KEY_NONE : byte;
}

/* ---- Pictures ---- */

static struct winsize size(void)
{
	struct winsize s;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &s) || !s.ws_row || !s.ws_col)
		s = (struct winsize){ .ws_row = PLAIN_ROWS, .ws_col = PLAIN_COLUMNS };
	return s;
}

unsigned terminal_rows(void)
{
	return size().ws_row;
}

unsigned terminal_columns(void)
{
	return size().ws_col;
}

void picture_start(struct picture *p, unsigned rows, unsigned columns)
{
	*p = (struct picture){ .rows = rows,
			       .columns = columns < TEXT_BYTES / 4 ? columns : TEXT_BYTES / 4,
			       .lines = mem_zero(rows * sizeof(*p->lines)) };
}

void picture_line(struct picture *p, enum text_style style, const char *format, ...)
{
	char text[TEXT_BYTES], fitted[TEXT_BYTES];
	va_list args;
	if (p->n == p->rows)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_fit(fitted, sizeof(fitted), text, p->columns, CUT_TAIL);
	p->lines[p->n++] = (struct picture_line){ .text = mem_text(fitted), .style = style };
}

void picture_wrap(struct picture *p, enum text_style style, const char *lead, const char *text,
		  unsigned most)
{
	char all[TEXT_BYTES];
	size_t indent = text_width(lead), room = p->columns > indent ? p->columns - indent : 1;
	const char *at = all;
	text_clean(all, sizeof(all), text);
	for (unsigned i = 0; i < most && (*at || !i); i++) {
		size_t n = i + 1 < most ? text_line_bytes(at, room) : strlen(at);
		picture_line(p, style, "%*s%.*s", i ? (int)indent : 0, i ? "" : lead, (int)n, at);
		at += n;
		at += strspn(at, " ");
	}
}

void picture_select(struct picture *p)
{
	if (p->n)
		p->lines[p->n - 1].is_selected = true;
}

void picture_skip_to(struct picture *p, unsigned row)
{
	while (p->n < row && p->n < p->rows)
		picture_line(p, TEXT_PLAIN, "%s", "");
}

void picture_free(struct picture *p)
{
	for (unsigned i = 0; i < p->n; i++)
		free(p->lines[i].text);
	free(p->lines);
}

/* A line as wide as the screen erases nothing, because after it the cursor may stay in the last
 * column. So each row is erased before its text. */
void terminal_draw(const struct picture *p, bool has_colour)
{
	static const char *const codes[] = { "", "\033[1m", "\033[2m", "\033[31m", "\033[32m" };
	VEC(char) out = { 0 };
	vec_reserve(&out, p->rows * (TEXT_BYTES + 64));
	for (unsigned i = 0; i < p->rows; i++) {
		const struct picture_line *l = i < p->n ? &p->lines[i] : NULL;
		const char *code = l && l->is_selected ? "\033[7m"
				   : l && has_colour   ? codes[l->style]
						       : "";
		out.n += (size_t)snprintf(out.at + out.n, out.room - out.n,
					  "\033[%u;1H\033[2K%s%s%s", i + 1, code, l ? l->text : "",
					  *code ? "\033[0m" : "");
	}
	put(out.at, out.n);
	vec_free(&out);
}
