/* See pickle.h. Numbers are little-endian. */
#include "export/pickle.h"

#include "core/runtime/utf8.h"

#include <string.h>

enum opcode {
	PROTO = 0x80,
	STOP = '.',
	EMPTY_LIST = ']',
	APPEND = 'a',
	EMPTY_DICT = '}',
	SETITEM = 's',
	BININT = 'J',
	LONG1 = 0x8a,
	NEWTRUE = 0x88,
	NEWFALSE = 0x89,
	TUPLE2 = 0x86,
	BINUNICODE = 'X',
	LONG_BINPUT = 'r',
	LONG_BINGET = 'j',
};

static void flush(struct pickle *p)
{
	outfile_write(p->out, p->buffer, p->used);
	p->used = 0;
}

static void put(struct pickle *p, const void *bytes, size_t n)
{
	if (p->used + n > sizeof(p->buffer))
		flush(p);
	if (n > sizeof(p->buffer)) {
		outfile_write(p->out, bytes, n);
		return;
	}
	memcpy(p->buffer + p->used, bytes, n);
	p->used += n;
}

static void put_byte(struct pickle *p, unsigned byte)
{
	uint8_t b = (uint8_t)byte;
	put(p, &b, 1);
}

static void put_number(struct pickle *p, uint64_t value, size_t bytes)
{
	uint8_t b[8];
	for (size_t i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)(value >> 8 * i);
	put(p, b, bytes);
}

void pickle_begin(struct pickle *p)
{
	put_byte(p, PROTO);
	put_byte(p, 2);
}

void pickle_end(struct pickle *p)
{
	put_byte(p, STOP);
	flush(p);
	map_free(&p->known);
}

void pickle_list(struct pickle *p)
{
	put_byte(p, EMPTY_LIST);
}

void pickle_append(struct pickle *p)
{
	put_byte(p, APPEND);
}

void pickle_dict(struct pickle *p)
{
	put_byte(p, EMPTY_DICT);
}

void pickle_set(struct pickle *p)
{
	put_byte(p, SETITEM);
}

void pickle_int(struct pickle *p, uint64_t value)
{
	if (value <= INT32_MAX) {
		put_byte(p, BININT);
		put_number(p, value, 4);
		return;
	}
	bool has_top_bit = value >> 63; /* LONG1 is signed: a ninth byte of 0 keeps the value
					 * positive */
	put_byte(p, LONG1);
	put_byte(p, 8 + has_top_bit);
	put_number(p, value, 8);
	if (has_top_bit)
		put_byte(p, 0);
}

void pickle_bool(struct pickle *p, bool value)
{
	put_byte(p, value ? NEWTRUE : NEWFALSE);
}

void pickle_pair(struct pickle *p, uint64_t a, uint64_t b)
{
	pickle_int(p, a);
	pickle_int(p, b);
	put_byte(p, TUPLE2);
}

bool pickle_again(struct pickle *p, uint64_t key)
{
	const uint64_t *number = map_find(&p->known, key);
	if (!number)
		return false;
	put_byte(p, LONG_BINGET);
	put_number(p, *number, 4);
	return true;
}

void pickle_keep(struct pickle *p, uint64_t key)
{
	put_byte(p, LONG_BINPUT);
	put_number(p, p->n_known, 4);
	*map_at(&p->known, key, NULL) = p->n_known++;
}

enum { TEXT_MOST = 4096 };

void pickle_text(struct pickle *p, const char *text)
{
	char clean[TEXT_MOST + 4];
	size_t used = 0;
	uint64_t key = (uint64_t)(uintptr_t)text;
	if (pickle_again(p, key))
		return;
	while (*text && used < TEXT_MOST) {
		size_t n = utf8_valid_bytes(text);
		if (n)
			memcpy(clean + used, text, n);
		else
			clean[used] = '?';
		used += n ? n : 1;
		text += n ? n : 1;
	}
	put_byte(p, BINUNICODE);
	put_number(p, used, 4);
	put(p, clean, used);
	pickle_keep(p, key);
}
