/* See json_out.h. */
#include "export/json_out.h"

#include "core/runtime/utf8.h"

#include <math.h>
#include <stdio.h>

enum { FLUSH_BYTES = 1 << 20 };

static const char hex_digits[] = "0123456789abcdef";

void json_flush(struct json_out *o)
{
	if (o->at > o->start)
		o->sink(o->context, o->start, (size_t)(o->at - o->start));
	o->at = o->start;
}

char *json_room(struct json_out *o, size_t bytes)
{
	if (o->at - o->start > FLUSH_BYTES)
		json_flush(o);
	if ((size_t)(o->end - o->at) < bytes) {
		size_t used = (size_t)(o->at - o->start), room = used + bytes + 2 * FLUSH_BYTES;
		o->start = mem_resize(o->start, room);
		o->at = o->start + used;
		o->end = o->start + room;
	}
	return o->at;
}

void json_free(struct json_out *o)
{
	free(o->start);
}

char *json_put_pointer(char *at, uint64_t value)
{
	int shift = 60;
	at = JSON_PUT_LITERAL(at, "\"0x");
	while (shift && !(value >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*at++ = hex_digits[value >> shift & 15];
	*at++ = '"';
	return at;
}

char *json_put_double(char *at, double value)
{
	return at + (isfinite(value) ? sprintf(at, "%.9g", value) : sprintf(at, "null"));
}

static char *put_control(char *at, unsigned char c)
{
	at = JSON_PUT_LITERAL(at, "\\u00");
	*at++ = hex_digits[c >> 4];
	*at++ = hex_digits[c & 15];
	return at;
}

char *json_put_text(char *at, const char *text)
{
	*at++ = '"';
	while (*text) {
		size_t n = utf8_valid_bytes(text);
		unsigned char c = (unsigned char)*text;
		if (!n) {
			at = JSON_PUT_LITERAL(at, "\xef\xbf\xbd");
		} else if (c < 0x20 || c == 0x7f) {
			at = put_control(at, c);
		} else {
			if (c == '"' || c == '\\')
				*at++ = '\\';
			at = json_put(at, text, n);
		}
		text += n ? n : 1;
	}
	*at++ = '"';
	return at;
}
