/*
 * Writes JSON fast, for formats with millions of events: a buffer, and functions that write numbers
 * and texts into it. The json_put functions write at `at` without a check and return the next
 * position; the caller has made room with json_room(). For one thread.
 */
#ifndef EXPORT_JSON_OUT_H
#define EXPORT_JSON_OUT_H

#include "export/exporter.h"

#include <string.h>

enum {
	JSON_ESCAPED_MOST = 6,	/* largest number of bytes that one byte of a text may become */
	JSON_NUMBER_BYTES = 32, /* room for a number */
};

struct json_out {
	exporter_sink *sink;
	void *context;
	char *start, *at, *end; /* buffer: bytes not yet passed to the sink */
};

/* Makes room for `bytes` more bytes. Returns where to write them. The caller sets `at` to the
 * position after what it has written. */
char *json_room(struct json_out *o, size_t bytes);
/* Passes everything to the sink. */
void json_flush(struct json_out *o);
void json_free(struct json_out *o);

/* Writes null for infinity and NaN, which JSON does not have. */
char *json_put_double(char *at, double value);

/* Writes an address as a string. Most readers of JSON store numbers as doubles, which would round
 * an address of 64 bits. */
char *json_put_pointer(char *at, uint64_t value);

/* Writes a text in quotes. Bytes that are not UTF-8 become U+FFFD. */
char *json_put_text(char *at, const char *text);

/* Returns how many bytes json_put_text() writes at most. */
static inline size_t json_text_room(const char *text)
{
	return strlen(text) * JSON_ESCAPED_MOST + 2;
}

static inline char *json_put(char *at, const char *text, size_t n)
{
	memcpy(at, text, n);
	return at + n;
}

#define JSON_PUT_LITERAL(at, text) json_put(at, text, sizeof(text) - 1)

static inline char *json_put_uint(char *at, uint64_t value)
{
	char digits[20];
	size_t n = 0;
	do
		digits[sizeof(digits) - ++n] = (char)('0' + value % 10);
	while (value /= 10);
	return json_put(at, digits + sizeof(digits) - n, n);
}

static inline char *json_put_int(char *at, int64_t value)
{
	if (value < 0)
		*at++ = '-';
	return json_put_uint(at, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Writes nanoseconds as microseconds with three decimals. */
static inline char *json_put_us(char *at, uint64_t ns)
{
	unsigned rest = (unsigned)(ns % 1000);
	at = json_put_uint(at, ns / 1000);
	at[0] = '.';
	at[1] = (char)('0' + rest / 100);
	at[2] = (char)('0' + rest / 10 % 10);
	at[3] = (char)('0' + rest % 10);
	return at + 4;
}

#endif
