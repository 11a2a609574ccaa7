/* See scan.h. */
#include "core/source/kineto/scan.h"

#include "core/runtime/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void scan_start(struct scan *s, struct bytes *bytes)
{
	memset(s, 0, sizeof(*s));
	s->bytes = bytes;
}

void scan_fail(struct scan *s, const char *format, ...)
{
	char what[160];
	va_list args;
	if (s->has_failed)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	uint64_t at = s->before - (uint64_t)(s->end - s->at);
	snprintf(s->trouble, sizeof(s->trouble), "%s at byte %llu", what, (unsigned long long)at);
	s->has_failed = true;
}

const char *scan_trouble(const struct scan *s)
{
	return s->trouble;
}

/* ---- Bytes ---- */

static bool next_block(struct scan *s)
{
	size_t n;
	if (s->has_ended || s->has_failed)
		return false;
	s->at = bytes_next(s->bytes, &n);
	s->end = s->at ? s->at + n : NULL;
	s->before += n;
	s->has_ended = !s->at;
	return s->at;
}

/* Returns the next byte without reading it; -1: there is none. */
static inline int look(struct scan *s)
{
	if (s->at == s->end && !next_block(s))
		return -1;
	return s->has_failed ? -1 : (unsigned char)*s->at;
}

static void fail_at_end(struct scan *s)
{
	const char *why = bytes_trouble(s->bytes);
	scan_fail(s, "%s", *why ? why : "the file ends early");
}

static inline int look_after_blanks(struct scan *s)
{
	int c = look(s);
	while (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
		s->at++;
		c = look(s);
	}
	if (c < 0)
		fail_at_end(s);
	return c;
}

static void fail_at(struct scan *s, int c, const char *wanted)
{
	if (c < 0)
		return;
	if (c > ' ' && c < 127)
		scan_fail(s, "'%c' instead of %s", c, wanted);
	else
		scan_fail(s, "byte 0x%02x instead of %s", (unsigned)c, wanted);
}

char scan_peek(struct scan *s)
{
	int c = look_after_blanks(s);
	return c > 0 ? (char)c : 0;
}

/* ---- Texts ---- */

static inline void put(struct scan *s, char c)
{
	if (s->n_text < SCAN_TEXT_BYTES)
		s->text[s->n_text++] = c;
}

static int hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static unsigned read_hex(struct scan *s)
{
	unsigned value = 0;
	for (int i = 0; i < 4; i++) {
		int c = look(s), digit = hex_digit(c);
		if (digit < 0) {
			if (c < 0)
				fail_at_end(s);
			fail_at(s, c, "a hexadecimal digit");
			return 0;
		}
		value = value << 4 | (unsigned)digit;
		s->at++;
	}
	return value;
}

static void put_code(struct scan *s, unsigned code)
{
	if (code >= 0x10000) {
		put(s, (char)(0xf0 | code >> 18));
		put(s, (char)(0x80 | (code >> 12 & 0x3f)));
	} else if (code >= 0x800) {
		put(s, (char)(0xe0 | code >> 12));
	}
	if (code >= 0x800)
		put(s, (char)(0x80 | (code >> 6 & 0x3f)));
	else if (code >= 0x80)
		put(s, (char)(0xc0 | code >> 6));
	put(s, (char)(code >= 0x80 ? 0x80 | (code & 0x3f) : code));
}

enum { HIGH_SURROGATE = 0xd800, LOW_SURROGATE = 0xdc00, SURROGATES_END = 0xe000, NO_CODE = 0xfffd };

/* Reads what follows "\u". Two escapes can stand for one character. */
static void read_unicode(struct scan *s)
{
	unsigned code = read_hex(s);
	if (code >= HIGH_SURROGATE && code < LOW_SURROGATE && look(s) == '\\') {
		s->at++;
		if (look(s) != 'u') {
			fail_at(s, look(s), "the second half of a character");
			return;
		}
		s->at++;
		unsigned low = read_hex(s);
		code = low >= LOW_SURROGATE && low < SURROGATES_END
			       ? 0x10000 + ((code - HIGH_SURROGATE) << 10) + (low - LOW_SURROGATE)
			       : NO_CODE;
	} else if (code >= HIGH_SURROGATE && code < SURROGATES_END) {
		code = NO_CODE;
	}
	put_code(s, code ? code : NO_CODE); /* a 0 byte would end the text */
}

static void read_escape(struct scan *s)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = look(s);
	const char *at = c > 0 ? strchr(from, c) : NULL;
	if (c < 0) {
		fail_at_end(s);
		return;
	}
	if (!at && c != 'u') {
		fail_at(s, c, "an escape");
		return;
	}
	s->at++;
	if (at)
		put(s, to[at - from]);
	else
		read_unicode(s);
}

#define EVERY_BYTE(byte) (0x0101010101010101ull * (byte))

/* Returns a word that is not 0 if one of its bytes is 0. */
static inline uint64_t has_zero(uint64_t word)
{
	return (word - EVERY_BYTE(1)) & ~word & EVERY_BYTE(0x80);
}

/* Returns the first quote, backslash or 0 byte; `end` if there is none. */
static const char *plain_end(const char *at, const char *end)
{
	for (; end - at >= 8; at += 8) {
		uint64_t word;
		memcpy(&word, at, sizeof(word));
		if (has_zero(word) | has_zero(word ^ EVERY_BYTE('"')) |
		    has_zero(word ^ EVERY_BYTE('\\')))
			break;
	}
	while (at < end && *at != '"' && *at != '\\' && *at)
		at++;
	return at;
}

/* Copies the bytes up to a quote or backslash. */
static void read_plain(struct scan *s)
{
	const char *from = s->at;
	s->at = plain_end(from, s->end);
	size_t n = (size_t)(s->at - from), room = SCAN_TEXT_BYTES - s->n_text;
	n = n < room ? n : room;
	memcpy(s->text + s->n_text, from, n);
	s->n_text += n;
}

static bool is_ascii(const char *text, size_t n)
{
	uint64_t all = 0, word;
	for (; n >= 8; n -= 8, text += 8) {
		memcpy(&word, text, sizeof(word));
		all |= word;
	}
	for (; n; n--)
		all |= (unsigned char)*text++;
	return !(all & EVERY_BYTE(0x80));
}

/* Replaces bytes that are not UTF-8 by '?', and ends the text. */
static void clean(struct scan *s)
{
	s->text[s->n_text] = 0;
	if (is_ascii(s->text, s->n_text))
		return;
	for (size_t i = 0; i < s->n_text;) {
		size_t n = utf8_valid_bytes(s->text + i);
		if (!n)
			s->text[i] = '?';
		i += n ? n : 1;
	}
}

/* Reads a text whose opening quote is next. */
static bool read_string(struct scan *s)
{
	s->n_text = 0;
	s->at++;
	for (;;) {
		int c = look(s);
		if (c < 0) {
			fail_at_end(s);
			return false;
		}
		if (c == '"')
			break;
		if (c == '\\') {
			s->at++;
			read_escape(s);
		} else if (!c) {
			put(s, '?');
			s->at++;
		} else {
			read_plain(s);
		}
	}
	s->at++;
	clean(s);
	return true;
}

/* Reads the digits of a number. */
static bool read_digits(struct scan *s)
{
	s->n_text = 0;
	for (int c = look(s);
	     (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
	     c = look(s)) {
		put(s, (char)c);
		s->at++;
	}
	s->text[s->n_text] = 0;
	return s->n_text;
}

/* ---- Structure ---- */

bool scan_enter(struct scan *s, char open)
{
	int c = look_after_blanks(s);
	if (c != open) {
		fail_at(s, c, open == '{' ? "'{'" : "'['");
		return false;
	}
	s->at++;
	return true;
}

/* Skips the comma between two values. Returns the next byte. Traces of old versions have a comma
 * before the end of a list, so that one is accepted. */
static int after_comma(struct scan *s)
{
	int c = look_after_blanks(s);
	if (c == ',') {
		s->at++;
		c = look_after_blanks(s);
	}
	return c;
}

bool scan_key(struct scan *s)
{
	int c = after_comma(s);
	if (c == '}') {
		s->at++;
		return false;
	}
	if (c != '"') {
		fail_at(s, c, "a key or '}'");
		return false;
	}
	if (!read_string(s))
		return false;
	c = look_after_blanks(s);
	if (c != ':') {
		fail_at(s, c, "':'");
		return false;
	}
	s->at++;
	return true;
}

bool scan_item(struct scan *s)
{
	int c = after_comma(s);
	if (c == ']')
		s->at++;
	return c > 0 && c != ']';
}

/* ---- Values ---- */

bool scan_text(struct scan *s)
{
	int c = look_after_blanks(s);
	if (c == '"')
		return read_string(s);
	if (c == '-' || (c >= '0' && c <= '9'))
		return read_digits(s);
	scan_skip(s);
	s->n_text = 0;
	s->text[0] = 0;
	return !s->has_failed;
}

int64_t scan_integer(struct scan *s, int64_t missing)
{
	char *end;
	if (!scan_text(s) || !s->n_text)
		return missing;
	errno = 0;
	long long value = strtoll(s->text, &end, 10);
	return errno || *end ? missing : value;
}

double scan_real(struct scan *s)
{
	char *end;
	if (!scan_text(s) || !s->n_text)
		return NAN;
	double value = strtod(s->text, &end);
	return *end ? NAN : value;
}

/* Reads "123.456" exactly. Returns false for other forms, such as one with an exponent. */
static bool parse_thousandths(const char *text, int64_t *to)
{
	bool is_negative = *text == '-';
	int64_t value = 0;
	int n_decimals = -1;
	for (text += is_negative; *text; text++) {
		if (*text == '.' && n_decimals < 0) {
			n_decimals = 0;
			continue;
		}
		if (*text < '0' || *text > '9')
			return false;
		if (n_decimals == 3) /* more than is needed */
			continue;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *text - '0', &value))
			return false;
		n_decimals += n_decimals >= 0;
	}
	for (n_decimals = n_decimals < 0 ? 0 : n_decimals; n_decimals < 3; n_decimals++)
		if (__builtin_mul_overflow(value, 10, &value))
			return false;
	*to = is_negative ? -value : value;
	return true;
}

bool scan_thousandths(struct scan *s, int64_t *to)
{
	char *end;
	if (!scan_text(s) || !s->n_text)
		return false;
	if (parse_thousandths(s->text, to))
		return true;
	double value = strtod(s->text, &end) * 1000;
	if (*end || !(fabs(value) < 9e18))
		return false;
	*to = (int64_t)value;
	return true;
}

static bool is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void skip_word(struct scan *s)
{
	int c = look(s);
	if (!is_letter(c))
		fail_at(s, c, "a value");
	for (; is_letter(c); c = look(s))
		s->at++;
}

/* Skips a text without a look at its escapes. */
static void skip_string(struct scan *s)
{
	s->at++;
	for (int c = look(s); c != '"'; c = look(s)) {
		if (c < 0) {
			fail_at_end(s);
			return;
		}
		if (c != '\\' && c) {
			s->at = plain_end(s->at, s->end);
			continue;
		}
		s->at++;
		if (c && look(s) >= 0)
			s->at++;
	}
	s->at++;
}

static void skip_scalar(struct scan *s, int c)
{
	if (c == '"')
		skip_string(s);
	else if ((c >= '0' && c <= '9') || c == '-')
		read_digits(s);
	else
		skip_word(s); /* true, false, null; NaN and Infinity, which Python writes */
}

/* Brackets are counted, not matched: a file that closes '{' with ']' is read as if it did not. */
void scan_skip(struct scan *s)
{
	uint64_t depth = 0;
	do {
		int c = look_after_blanks(s);
		if (c < 0)
			return;
		if (c == '{' || c == '[') {
			depth++;
			s->at++;
		} else if ((c == '}' || c == ']' || c == ',' || c == ':') && depth) {
			depth -= c == '}' || c == ']';
			s->at++;
		} else {
			skip_scalar(s, c);
		}
	} while (depth && !s->has_failed);
}
