/*
 * Reads JSON from a file of any size, from its start to its end, without keeping it. The caller
 * walks through the values:
 *
 *	for (scan_enter(s, '{'); scan_key(s);)
 *		if (!strcmp(s->text, "ts")) ... scan_number(s) ... else scan_skip(s);
 *
 * At the first error all functions return false or 0 from then on, so that loops end, and
 * scan_trouble() says what is wrong and where. Nesting is limited only for scan_skip(), which does
 * not recurse.
 */
#ifndef CORE_KINETO_SCAN_H
#define CORE_KINETO_SCAN_H

#include "core/source/kineto/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A longer text is cut. The longest names of kernels have some thousands of bytes. */
enum { SCAN_TEXT_BYTES = 64 << 10 };

struct scan {
	struct bytes *bytes;
	const char *at, *end; /* the rest of the current block */
	uint64_t before;      /* bytes of the file before `end` */
	/* the last key or text, valid UTF-8, or the last number's digits; ends with a 0 byte */
	char text[SCAN_TEXT_BYTES + 8];
	size_t n_text;
	bool has_ended, has_failed;
	char trouble[200];
};

/* Starts to read. `s` has 64 KiB, so it is not for the stack. `bytes` must outlive it. */
void scan_start(struct scan *s, struct bytes *bytes);

/* Returns the first byte of the next value ('{', '[', '"', 't', 'f', 'n', '-' or a digit), without
 * reading the value; 0 after an error. */
char scan_peek(struct scan *s);

/* Enters an object or array. `open`: '{' or '['. */
bool scan_enter(struct scan *s, char open);
/* Reads an object's next key into `text`. Returns false at the object's end, which it reads. */
bool scan_key(struct scan *s);
/* Returns whether the array has another value. Reads the array's end if not. */
bool scan_item(struct scan *s);

/* Reads a text into `text`. For a number, `text` gets its digits. Any other value is skipped, and
 * `text` is then "". */
bool scan_text(struct scan *s);
/* Reads an integer. A text with a number counts as that number. `missing` if it is no integer or
 * does not fit. */
int64_t scan_integer(struct scan *s, int64_t missing);
/*
 * Reads a number with up to 3 decimals as thousandths, such as microseconds as nanoseconds. Returns
 * false if it is not a finite number or does not fit.
 */
bool scan_thousandths(struct scan *s, int64_t *to);
/* Reads a number. Returns NAN for any other value. */
double scan_real(struct scan *s);

/* Skips a value of any kind and depth. */
void scan_skip(struct scan *s);

/* Ends the reading with an error, unless there was one before. */
__attribute__((format(printf, 2, 3))) void scan_fail(struct scan *s, const char *format, ...);

/* Returns what is wrong with the file, and where; "" if it is valid so far. */
const char *scan_trouble(const struct scan *s);

#endif
