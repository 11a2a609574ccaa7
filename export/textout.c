/* See textout.h. */
#include "export/textout.h"

#include <ctype.h>
#include <stdarg.h>
#include <unistd.h>

bool text_wants_colour(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	return isatty(fd) && !(no && *no) && term && *term && strcmp(term, "dumb") != 0;
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

/* A title's margin takes the margin's place for one line. */
static struct textout titled(const struct textout *o)
{
	struct textout t = *o;
	if (t.title_margin)
		t.margin = t.title_margin;
	return t;
}

void text_title(struct textout *o, const char *format, ...)
{
	char text[TEXT_BYTES];
	struct textout t = titled(o);
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put(&t, TEXT_BOLD, text);
	o->n_lines = t.n_lines;
}

size_t text_title_columns(const struct textout *o)
{
	struct textout t = titled(o);
	return room(&t);
}

/* Returns whether the blank at `text[i]` separates a number from its unit. */
static bool is_before_unit(const char *text, size_t i)
{
	static const char *const units[] = { "%", "ms", "us", "s", "B", "KiB", "MiB", "GiB" };
	const char *next = text + i + 1;
	size_t n = strcspn(next, " ,;:.)");
	if (!i || !isdigit((unsigned char)text[i - 1]))
		return false;
	for (size_t k = 0; k < sizeof(units) / sizeof(*units); k++)
		if (n == strlen(units[k]) && !memcmp(next, units[k], n))
			return true;
	return false;
}

size_t text_line_bytes(const char *text, size_t columns)
{
	size_t fits = text_head_bytes(text, columns);
	if (!text[fits])
		return fits;
	for (size_t i = fits; i > 0; i--)
		if (text[i] == ' ' && !is_before_unit(text, i))
			return i;
	return fits ? fits : strlen(text);
}

void text_wrap(struct textout *o, enum text_style style, const char *lead, const char *text,
	       unsigned most)
{
	char all[TEXT_BYTES], line[2 * TEXT_BYTES];
	size_t indent = text_width(lead), columns = room(o) - indent;
	const char *at = all;
	text_clean(all, sizeof(all), text);
	for (unsigned i = 0; i < most && (*at || !i); i++) {
		size_t n = i + 1 < most ? text_line_bytes(at, columns) : strlen(at);
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
