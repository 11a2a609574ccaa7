/* See html_out.h. */
#include "export/html_out.h"

#include "core/runtime/utf8.h"

#include <stdarg.h>
#include <stdio.h>

enum { PIECE_BYTES = 4096 };

static void append(struct html_out *o, const char *bytes, size_t n)
{
	vec_reserve(&o->text, n);
	memcpy(o->text.at + o->text.n, bytes, n);
	o->text.n += n;
}

void html_raw(struct html_out *o, const char *html)
{
	append(o, html, strlen(html));
}

void html_rawf(struct html_out *o, const char *format, ...)
{
	char piece[PIECE_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(piece, sizeof(piece), format, args);
	va_end(args);
	html_raw(o, piece);
}

/* Returns what stands for a byte that HTML or JSON would act on; NULL: the byte stands for itself.
 */
static const char *entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	case '\t':
	case '\n':
	case '\r':
		return " ";
	default:
		return NULL;
	}
}

void html_text(struct html_out *o, const char *text)
{
	while (*text) {
		const char *as = entity(*text);
		size_t unsafe = as ? 0 : utf8_unsafe_bytes(text);
		size_t n = as ? 1 : unsafe ? unsafe : utf8_valid_bytes(text);
		if (unsafe)
			as = "\xef\xbf\xbd"; /* U+FFFD */
		append(o, as ? as : text, as ? strlen(as) : n);
		text += n;
	}
}

void html_textf(struct html_out *o, const char *format, ...)
{
	char piece[PIECE_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(piece, sizeof(piece), format, args);
	va_end(args);
	html_text(o, piece);
}

static const char *json_escape(char c)
{
	return c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : NULL;
}

/* JSON has these characters only in strings, where an escape means the same. */
void html_json(struct html_out *o, const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY |
					       JSON_REAL_PRECISION(9));
	for (const char *at = text; at && *at; at++) {
		const char *as = json_escape(*at);
		append(o, as ? as : at, as ? strlen(as) : 1);
	}
	free(text);
}

void html_append(struct html_out *o, const struct html_out *other)
{
	append(o, other->text.at, other->text.n);
}

void html_free(struct html_out *o)
{
	vec_free(&o->text);
}
