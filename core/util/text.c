/* Measures, cleans and cuts texts for the terminal (text.h). */
#include "core/util/text.h"

#include "core/runtime/utf8.h"

#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* Returns a UTF-8 locale, or 0 if there is none. Texts of the profiled program count as UTF-8, in
 * whatever locale the caller runs. */
static locale_t utf8(void)
{
	static locale_t locale;
	if (!locale)
		locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return locale;
}

/*
 * Returns the number of columns of the first character of `text`; negative: it is not printable.
 * Sets *bytes to the length of this character in bytes, at least 1.
 */
static int next_character(const char *text, size_t *bytes)
{
	size_t unsafe = utf8_unsafe_bytes(text);
	if (unsafe) {
		*bytes = unsafe;
		return -1;
	}
	wchar_t wide;
	mbstate_t state = { 0 };
	size_t n = mbrtowc(&wide, text, strnlen(text, MB_LEN_MAX), &state);
	*bytes = n == (size_t)-1 || n == (size_t)-2 || !n ? 1 : n;
	return *bytes == n ? wcwidth(wide) : -1;
}

size_t text_clean(char *to, size_t bytes, const char *text)
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
	return text_clean(cleaned, sizeof(cleaned), text);
}

size_t text_head_bytes(const char *text, size_t columns)
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

/* Returns the position in bytes from which the rest of the text fits into `columns`. A combining
 * character is never the first one of the rest, because it belongs to the character before it. */
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
	size_t dot = columns < 8 ? 1 : 3; /* number of dots that mark the cut */
	if (text_clean(all, sizeof(all), text) <= columns) {
		snprintf(to, bytes, "%s", all);
		return to;
	}
	size_t room = columns > dot ? columns - dot : 0;
	size_t head = cut == CUT_TAIL ? room : cut == CUT_HEAD ? 0 : room / 2;
	size_t front = text_head_bytes(all, head);
	size_t back = room > head ? tail_begin(all, room - head) : strlen(all);
	snprintf(to, bytes, "%.*s%.*s%s", (int)front, all, (int)dot, dots, all + back);
	return to;
}

void text_append(char *to, size_t bytes, const char *format, ...)
{
	size_t used = strlen(to);
	va_list args;
	va_start(args, format);
	vsnprintf(to + used, bytes - used, format, args);
	va_end(args);
}
