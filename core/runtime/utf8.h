/* Checks UTF-8, and finds what a terminal must not be sent. Texts from the profiled program and its
 * environment may contain any bytes. */
#ifndef CORE_UTF8_H
#define CORE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Returns the length in bytes of the first character of `text`. Returns 0 if the character is not
 * valid UTF-8 or not complete. `text` ends with a 0 byte. */
static inline size_t utf8_valid_bytes(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t n = at[0] < 0x80	  ? 1
		   : at[0] < 0xc2 ? 0
		   : at[0] < 0xe0 ? 2
		   : at[0] < 0xf0 ? 3
		   : at[0] < 0xf5 ? 4
				  : 0;
	for (size_t i = 1; i < n; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return n;
}

/* Returns the code point of the valid first character of `text`, which has `n` bytes. */
static inline uint32_t utf8_code_point(const char *text, size_t n)
{
	const uint8_t *at = (const uint8_t *)text;
	uint32_t code = n == 1 ? at[0] : at[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++)
		code = code << 6 | (at[i] & 0x3fu);
	return code;
}

/*
 * Returns whether the character makes a terminal or a reader see something else than the text:
 * control characters (C0, C1, with the escape character), those that change the direction of
 * writing, separators of lines, and characters that are invisible. The joiners U+200C and U+200D,
 * which several scripts need, are harmless.
 */
static inline int utf8_is_deceptive(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x061c, 0x061c },   { 0x180e, 0x180e },
		{ 0x200b, 0x200b }, { 0x200e, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
	};
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return 1;
	return 0;
}

/*
 * Returns how many bytes at the start of `text` must be replaced before they reach a terminal or a
 * text report: those of a deceptive character, or 1 byte that is not UTF-8. Returns 0 if the first
 * character is harmless.
 */
static inline size_t utf8_unsafe_bytes(const char *text)
{
	size_t n = utf8_valid_bytes(text);
	return !n ? 1 : utf8_is_deceptive(utf8_code_point(text, n)) ? n : 0;
}

#endif
