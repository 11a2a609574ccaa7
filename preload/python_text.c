/*
 * See python_text.h. A str stores its characters in units of 1, 2 or 4 bytes, right after its
 * header.
 */
#include "preload/python_text.h"

/* A file name may contain bytes that are not UTF-8. Python represents such a byte as a lone
 * surrogate, U+DC80 to U+DCFF. */
enum { ESCAPED_FIRST = 0xdc80, ESCAPED_LAST = 0xdcff, NOT_A_CHARACTER = 0xfffd };

static uint32_t character(const uint8_t *data, unsigned unit_bytes, uint64_t i)
{
	uint32_t c = 0;
	/* little-endian, like every CPU that CUDA supports */
	memcpy(&c, data + i * unit_bytes, unit_bytes);
	return c;
}

/* Encodes one character. Returns the number of bytes stored. */
static size_t encode(uint32_t c, uint8_t to[4])
{
	if (c >= ESCAPED_FIRST && c <= ESCAPED_LAST) {
		to[0] = (uint8_t)c;
		return 1;
	}
	if (!c || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
		c = NOT_A_CHARACTER;
	if (c < 0x80) {
		to[0] = (uint8_t)c;
		return 1;
	}
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i; i--, c >>= 6)
		to[i] = (uint8_t)(0x80 | (c & 0x3f));
	to[0] = (uint8_t)(0xf00u >> n | c);
	return n;
}

bool python_text_copy(const struct python_layout *l, uint64_t text, char *to, size_t bytes)
{
	uint64_t length = python_word(text + l->text_length);
	uint32_t state = python_half(text + l->text_state) >> l->text_kind_bit;
	unsigned unit_bytes = state & 7;
	bool is_compact = state >> 3 & 1, is_ascii = state >> 4 & 1;
	const uint8_t *data =
		(const uint8_t *)(uintptr_t)(text + (is_ascii ? l->text_ascii : l->text_wide));
	size_t used = 0;
	if (!is_compact || (unit_bytes != 1 && unit_bytes != 2 && unit_bytes != 4))
		return false;
	for (uint64_t i = 0; i < length; i++) {
		uint8_t encoded[4];
		size_t n = encode(character(data, unit_bytes, i), encoded);
		if (used + n >= bytes)
			break;
		memcpy(to + used, encoded, n);
		used += n;
	}
	to[used] = 0;
	return true;
}
