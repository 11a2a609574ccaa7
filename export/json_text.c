/* See json_text.h. */
#include "export/json_text.h"

#include "core/runtime/utf8.h"
#include "core/util/vec.h"

#include <stdio.h>

/* Writes a code point as one or two units of UTF-16. Returns the number of bytes, at most 12. */
static int escape(char *to, uint32_t code)
{
	enum { BYTES = 13 };
	if (code < 0x10000)
		return snprintf(to, BYTES, "\\u%04x", code);
	code -= 0x10000;
	return snprintf(to, BYTES, "\\u%04x\\u%04x", 0xd800 + (code >> 10),
			0xdc00 + (code & 0x3ff));
}

/* Jansson escapes C0. What is left of deceptive characters has two bytes or more, or is DEL, and
 * stands in strings only. Newlines and blanks of the layout are no part of strings. */
char *json_text(const json_t *root, size_t flags)
{
	char *plain = json_dumps(root, flags);
	VEC(char) text = { 0 };
	size_t n;
	for (const char *at = plain; at && *at; at += n) {
		n = utf8_valid_bytes(at);
		n = n ? n : 1;
		uint32_t code = utf8_code_point(at, n);
		vec_reserve(&text, text.n + 16);
		if (code >= ' ' && utf8_is_deceptive(code)) {
			text.n += (size_t)escape(text.at + text.n, code);
		} else {
			memcpy(text.at + text.n, at, n);
			text.n += n;
		}
	}
	if (plain)
		vec_push(&text, 0);
	free(plain);
	return text.at;
}
