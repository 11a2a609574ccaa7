/* See textout.h. Widths are terminal columns, from libc's wcwidth(). */
#include "export/textout.h"

#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <unistd.h>
#include <wchar.h>

bool text_wants_colour(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	return isatty(fd) && !(no && *no) && term && *term && strcmp(term, "dumb") != 0;
}

/* ---- Characters ---- */

/* Texts of the profiled program are read as UTF-8, whatever the caller's locale is. */
static locale_t utf8(void)
{
	static locale_t locale;
	if (!locale)
		locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return locale;
}

/*
 * Returns the columns of the next character, negative if it is not printable, and its length in
 * `bytes`.
 */
static int next_character(const char *text, size_t *bytes)
{
	wchar_t wide;
	mbstate_t state = { 0 };
	size_t n = mbrtowc(&wide, text, strnlen(text, MB_LEN_MAX), &state);
	*bytes = n == (size_t)-1 || n == (size_t)-2 || !n ? 1 : n;
	return *bytes == n ? wcwidth(wide) : -1;
}

/* Copies printable characters, with a blank for each tab. Returns the columns. */
static size_t clean(char *to, size_t bytes, const char *text)
{
	size_t columns = 0, used = 0, n;
	locale_t before = utf8() ? uselocale(utf8()) : (locale_t)0;
	for (; *text && used + 8 < bytes; text += n) {
		int width = next_character(text, &n);
		if (width >= 0) {
			memcpy(to + used, text, n);
			used += n;
		} else {
			to[used++] = *text == '\t' || *text == '\n' ? ' ' : '?';
		}
		columns += width >= 0 ? (size_t)width : 1;
	}
	to[used] = 0;
	if (before)
		uselocale(before);
	return columns;
}

size_t text_width(const char *text)
{
	char cleaned[TEXT_BYTES];
	return clean(cleaned, sizeof(cleaned), text);
}

/* Returns how many bytes from the front fit into `columns`. */
static size_t head_bytes(const char *text, size_t columns)
{
	size_t used = 0, taken = 0, n;
	locale_t before = utf8() ? uselocale(utf8()) : (locale_t)0;
	while (text[used]) {
		int width = next_character(text + used, &n);
		if (width > 0 && taken + (size_t)width > columns)
			break;
		taken += width > 0 ? (size_t)width : 0;
		used += n;
	}
	if (before)
		uselocale(before);
	return used;
}

/* Returns where the last `columns` or fewer begin, never at a combining character. */
static size_t tail_begin(const char *text, size_t columns)
{
	size_t at = 0, all = text_width(text), n;
	locale_t before = utf8() ? uselocale(utf8()) : (locale_t)0;
	for (; text[at] && all > columns; at += n) {
		int width = next_character(text + at, &n);
		all -= width > 0 ? (size_t)width : 0;
	}
	while (at && text[at] && !next_character(text + at, &n))
		at += n;
	if (before)
		uselocale(before);
	return at;
}

char *text_fit(char *to, size_t bytes, const char *text, size_t columns, enum text_cut cut)
{
	char all[TEXT_BYTES];
	static const char dots[] = "...";
	size_t dot = columns < 8 ? 1 : 3; /* one dot if there is hardly any room */
	if (clean(all, sizeof(all), text) <= columns) {
		snprintf(to, bytes, "%s", all);
		return to;
	}
	size_t room = columns > dot ? columns - dot : 0;
	size_t head = cut == CUT_TAIL ? room : cut == CUT_HEAD ? 0 : room / 2;
	size_t front = head_bytes(all, head);
	size_t back = room > head ? tail_begin(all, room - head) : strlen(all);
	snprintf(to, bytes, "%.*s%.*s%s", (int)front, all, (int)dot, dots, all + back);
	return to;
}

/* ---- Lines ---- */

static const char *style_code(const struct textout *o, enum text_style style)
{
	static const char *const codes[] = { "", "\033[1m", "\033[2m", "\033[31m", "\033[32m" };
	return o->has_colour ? codes[style] : "";
}

static const char *margin(const struct textout *o)
{
	return o->margin ? o->margin : "";
}

static size_t room(const struct textout *o)
{
	return TEXT_COLUMNS - strlen(margin(o));
}

static void put(struct textout *o, enum text_style style, const char *text)
{
	char line[TEXT_BYTES];
	const char *code = style_code(o, style);
	text_fit(line, sizeof(line), text, room(o), CUT_TAIL);
	size_t n = strlen(line);
	while (n && line[n - 1] == ' ')
		line[--n] = 0;
	fprintf(o->to, "%s%s%s%s\n", n ? margin(o) : "", code, line, *code ? "\033[0m" : "");
	o->n_lines++;
}

void text_line(struct textout *o, enum text_style style, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put(o, style, text);
}

/*
 * Returns how many bytes of `text` go on a line of `columns`: up to the last blank that fits, or a
 * part of a word that is too long.
 */
static size_t line_bytes(const char *text, size_t columns)
{
	size_t fits = head_bytes(text, columns);
	if (!text[fits])
		return fits;
	for (size_t i = fits; i > 0; i--)
		if (text[i] == ' ')
			return i;
	return fits ? fits : strlen(text);
}

void text_wrap(struct textout *o, enum text_style style, const char *lead, const char *text,
	       unsigned most)
{
	char all[TEXT_BYTES], line[2 * TEXT_BYTES];
	size_t indent = text_width(lead), columns = room(o) - indent;
	const char *at = all;
	clean(all, sizeof(all), text);
	for (unsigned i = 0; i < most && (*at || !i); i++) {
		size_t n = i + 1 < most ? line_bytes(at, columns) : strlen(at);
		snprintf(line, sizeof(line), "%*s%.*s", i ? (int)indent : 0, i ? "" : lead, (int)n,
			 at);
		put(o, style, line);
		at += n;
		at += strspn(at, " ");
	}
}

void text_say(struct textout *o, const char *lead, const char *format, ...)
{
	enum { LINES = 2 };
	char text[TEXT_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_wrap(o, TEXT_PLAIN, lead, text, LINES);
}
