/*
 * Writes protobuf messages of any schema into a buffer. A nested message is written in place, after
 * one byte for its length. If the length needs more bytes, pb_end() moves the message. The caller
 * reserves room for each outermost message with pb_reserve(); the other functions do not check for
 * room.
 */
#ifndef EXPORT_PB_H
#define EXPORT_PB_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pb {
	uint8_t *start, *at, *end; /* allocated up to `end`, written up to `at` */
};

/* Makes room for `bytes` more bytes. May move the buffer, which makes pointers into it invalid. */
void pb_reserve(struct pb *b, size_t bytes);
void pb_free(struct pb *b);

static inline size_t pb_used(const struct pb *b)
{
	return (size_t)(b->at - b->start);
}

static inline void pb_varint(struct pb *b, uint64_t value)
{
	while (value >= 0x80) {
		*b->at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*b->at++ = (uint8_t)value;
}

static inline void pb_uint(struct pb *b, uint32_t field, uint64_t value)
{
	pb_varint(b, field << 3);
	pb_varint(b, value);
}

static inline void pb_fixed64(struct pb *b, uint32_t field, uint64_t value)
{
	pb_varint(b, field << 3 | 1);
	memcpy(b->at, &value, sizeof(value));
	b->at += sizeof(value);
}

static inline void pb_double(struct pb *b, uint32_t field, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	pb_fixed64(b, field, bits);
}

/*
 * Copies the first `n` bytes of `text`, with '?' in place of each byte that is not UTF-8, and of
 * those of a character that is cut off. Decoders reject a message with a string that is not UTF-8.
 * `text` ends with a 0 byte. Returns the end of the copy.
 */
uint8_t *pb_copy_text(uint8_t *to, const char *text, size_t n);

/* Writes the first `n` bytes of `text` as UTF-8. */
static inline void pb_text_of(struct pb *b, uint32_t field, const char *text, size_t n)
{
	pb_varint(b, field << 3 | 2);
	pb_varint(b, n);
	b->at = pb_copy_text(b->at, text, n);
}

static inline void pb_text(struct pb *b, uint32_t field, const char *text)
{
	pb_text_of(b, field, text, strlen(text));
}

/* Begins a nested message. Returns the position of its length, for pb_end(). */
static inline uint8_t *pb_begin(struct pb *b, uint32_t field)
{
	pb_varint(b, field << 3 | 2);
	return b->at++;
}

/* Ends the nested message whose length pb_begin() placed at `length`. */
static inline void pb_end(struct pb *b, uint8_t *length)
{
	size_t n = (size_t)(b->at - length - 1);
	if (n < 0x80) {
		*length = (uint8_t)n;
		return;
	}
	size_t extra = n < 0x4000 ? 1 : n < 0x200000 ? 2 : n < 0x10000000 ? 3 : 4;
	memmove(length + 1 + extra, length + 1, n);
	b->at += extra;
	for (size_t i = 0; i < extra; i++, n >>= 7)
		*length++ = (uint8_t)(n | 0x80);
	*length = (uint8_t)n;
}

#endif
