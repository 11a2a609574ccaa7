/*
 * See landing_pads.h. An entry of .eh_frame (FDE) has the range of a function and the address of
 * its table of calls (LSDA). How these are stored, its CIE says. The formats are those of the Linux
 * Standard Base ("Exception Frames") and of GCC's unwind-pe.h.
 */
#include "core/flow/landing_pads.h"

#include "core/util/bisect.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <string.h>

/* How a pointer is stored: its format, and what it is relative to. */
enum {
	FORMAT = 0x0f,
	ADDRESS = 0x00,
	ULEB128 = 0x01,
	UNSIGNED_2 = 0x02,
	UNSIGNED_4 = 0x03,
	UNSIGNED_8 = 0x04,
	SLEB128 = 0x09,
	SIGNED_2 = 0x0a,
	SIGNED_4 = 0x0b,
	SIGNED_8 = 0x0c,
	RELATIVE = 0x70,
	TO_ITSELF = 0x10,
	OMITTED = 0xff,
};

enum {
	LETTERS_MOST = 16, /* of a CIE's augmentation; compilers use up to 6 */
	/* Bounds the time that a damaged file can cost. PyTorch has 2 million calls in tables. */
	CALLS_MOST = 1 << 24,
};

/* A function, or the part of it that the compiler has moved away. */
struct function {
	uint64_t begin, end, table;
};

struct call {
	uint64_t begin, end, pad;
};

struct landing_pads {
	struct landing_image image;
	VEC(struct function) functions; /* by `begin`; only those with a table */
	size_t current; /* index of the function that `calls` are of, plus 1; 0: of none */
	VEC(struct call) calls;
	size_t n_read; /* calls read so far, in all functions */
};

/* ---- Numbers ---- */

/* Bytes that are read in order. Beyond the end, all are 0, and `is_over` is set. */
struct bytes {
	const uint8_t *at, *end;
	uint64_t address; /* of `at` */
	bool is_over;
};

static void skip(struct bytes *b, uint64_t n)
{
	if (n > (size_t)(b->end - b->at)) {
		b->is_over = true;
		n = (uint64_t)(b->end - b->at);
	}
	b->at += n;
	b->address += n;
}

/* Reads a number of `n` bytes, at most 8. */
static uint64_t read_fixed(struct bytes *b, size_t n)
{
	uint64_t value = 0;
	if (n <= (size_t)(b->end - b->at))
		memcpy(&value, b->at, n);
	skip(b, n);
	return value;
}

static uint64_t read_leb128(struct bytes *b, bool is_signed)
{
	enum { BITS = 7, MORE = 0x80, MINUS = 0x40 };
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;
	do {
		byte = (uint8_t)read_fixed(b, 1);
		value |= shift < 64 ? (uint64_t)(byte & (MORE - 1)) << shift : 0;
		shift += BITS;
	} while (byte & MORE);
	if (is_signed && byte & MINUS && shift < 64)
		value |= ~0ull << shift;
	return value;
}

/*
 * Reads a number in the format. Formats that no compiler uses here count as the end of the bytes.
 */
static uint64_t read_number(struct bytes *b, uint8_t format)
{
	switch (format & FORMAT) {
	case ADDRESS:
	case UNSIGNED_8:
	case SIGNED_8:
		return read_fixed(b, 8);
	case UNSIGNED_4:
		return read_fixed(b, 4);
	case UNSIGNED_2:
		return read_fixed(b, 2);
	case SIGNED_4:
		return (uint64_t)(int64_t)(int32_t)read_fixed(b, 4);
	case SIGNED_2:
		return (uint64_t)(int64_t)(int16_t)read_fixed(b, 2);
	case ULEB128:
	case SLEB128:
		return read_leb128(b, (format & FORMAT) == SLEB128);
	default:
		b->is_over = true;
		return 0;
	}
}

/* Reads a pointer that is absolute or relative to itself. 0 stays 0: there is none. */
static uint64_t read_pointer(struct bytes *b, uint8_t format)
{
	uint64_t at = b->address, value = read_number(b, format);
	bool is_relative = (format & RELATIVE) == TO_ITSELF;
	if (format & RELATIVE && !is_relative)
		b->is_over = true;
	return value && is_relative ? at + value : value;
}

/* ---- .eh_frame ---- */

/* What a CIE says about its FDEs: how pointers are stored. */
struct formats {
	uint8_t code, table; /* OMITTED: no tables */
	bool has_length;     /* of what an FDE has besides the range */
};

/* Reads an entry's length and what follows it. Returns false at the end. */
static bool next_entry(struct bytes *frames, struct bytes *entry)
{
	enum { LONG = 0xffffffff };
	uint64_t length = read_fixed(frames, 4);
	if (length == LONG)
		length = read_fixed(frames, 8);
	*entry = *frames;
	skip(frames, length);
	entry->end = frames->at;
	return !frames->is_over;
}

static bool read_formats(struct bytes cie, struct formats *out)
{
	*out = (struct formats){ .code = ADDRESS, .table = OMITTED };
	uint8_t version = (uint8_t)read_fixed(&cie, 1);
	const char *letters = (const char *)cie.at;
	size_t left = (size_t)(cie.end - cie.at);
	const uint8_t *zero = memchr(cie.at, 0, left < LETTERS_MOST ? left : LETTERS_MOST);
	if (!zero)
		return false;
	skip(&cie, (uint64_t)(zero - cie.at) + 1);
	read_leb128(&cie, false);
	read_leb128(&cie, true);
	if (version == 1)
		skip(&cie, 1);
	else
		read_leb128(&cie, false);
	out->has_length = *letters == 'z';
	if (out->has_length)
		read_leb128(&cie, false);
	for (letters += out->has_length; *letters; letters++) {
		uint8_t format = strchr("PLR", *letters) ? (uint8_t)read_fixed(&cie, 1) : 0;
		if (*letters == 'P')
			read_number(&cie, format);
		else if (*letters == 'L')
			out->table = format;
		else if (*letters == 'R')
			out->code = format;
		else if (!strchr("SB", *letters))
			return false;
	}
	return !cie.is_over;
}

/* Reads the CIE that begins at `at`. Returns false if there is none. */
static bool read_cie(const struct landing_image *image, const uint8_t *at, struct formats *out)
{
	uint64_t offset = (uint64_t)(at - image->frames);
	struct bytes rest = { at, image->frames + image->frames_bytes,
			      image->frames_address + offset, false },
		     cie;
	return next_entry(&rest, &cie) && read_fixed(&cie, 4) == 0 && read_formats(cie, out);
}

static void add_function(struct landing_pads *p, struct bytes fde, const struct formats *f)
{
	uint64_t begin = read_pointer(&fde, f->code), bytes = read_number(&fde, f->code);
	if (!f->has_length)
		return;
	read_leb128(&fde, false);
	uint64_t table = read_pointer(&fde, f->table);
	if (!fde.is_over && table && bytes)
		vec_push(&p->functions, ((struct function){ begin, begin + bytes, table }));
}

static int by_begin(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void read_frames(struct landing_pads *p)
{
	const struct landing_image *image = &p->image;
	struct bytes frames = { image->frames, image->frames + image->frames_bytes,
				image->frames_address, false },
		     entry;
	const uint8_t *known = NULL; /* the CIE that `formats` are from */
	struct formats formats = { .table = OMITTED };
	while (frames.at < frames.end && next_entry(&frames, &entry)) {
		const uint8_t *at = entry.at;
		uint64_t back = read_fixed(&entry, 4);
		if (entry.is_over || !back || back > (uint64_t)(at - image->frames))
			continue;
		if (at - back != known && !read_cie(image, at - back, &formats))
			formats.table = OMITTED;
		known = at - back;
		if (formats.table != OMITTED)
			add_function(p, entry, &formats);
	}
	if (p->functions.n)
		qsort(p->functions.at, p->functions.n, sizeof(*p->functions.at), by_begin);
}

/* ---- Tables of calls ---- */

static void read_calls(struct landing_pads *p, const struct function *f)
{
	struct bytes table = { .address = f->table };
	size_t n = 0;
	p->calls.n = 0;
	table.at = p->image.bytes_from(p->image.context, f->table, &n);
	if (!table.at)
		return;
	table.end = table.at + n;
	uint8_t format = (uint8_t)read_fixed(&table, 1);
	uint64_t base = format == OMITTED ? f->begin : read_pointer(&table, format);
	if ((uint8_t)read_fixed(&table, 1) != OMITTED)
		read_leb128(&table, false);
	format = (uint8_t)read_fixed(&table, 1);
	uint64_t bytes = read_leb128(&table, false);
	if (table.is_over || bytes > (uint64_t)(table.end - table.at))
		return;
	table.end = table.at + bytes;
	while (table.at < table.end && p->n_read++ < CALLS_MOST) {
		uint64_t begin = f->begin + read_number(&table, format),
			 length = read_number(&table, format), pad = read_number(&table, format);
		read_leb128(&table, false);
		if (table.is_over)
			return;
		if (pad)
			vec_push(&p->calls, ((struct call){ begin, begin + length, base + pad }));
	}
}

struct landing_pads *landing_pads_new(const struct landing_image *image)
{
	struct landing_pads *p = mem_zero(sizeof(*p));
	p->image = *image;
	read_frames(p);
	return p;
}

void landing_pads_free(struct landing_pads *p)
{
	if (!p)
		return;
	vec_free(&p->functions);
	vec_free(&p->calls);
	free(p);
}

uint64_t landing_pads_find(struct landing_pads *p, uint64_t address)
{
	size_t after = bisect(p->functions.n, i, p->functions.at[i].begin <= address);
	const struct function *f = after ? &p->functions.at[after - 1] : NULL;
	if (!f || address >= f->end)
		return 0;
	if (p->current != after)
		read_calls(p, f);
	p->current = after;
	/* the compiler sorts the calls */
	after = bisect(p->calls.n, i, p->calls.at[i].begin <= address);
	const struct call *c = after ? &p->calls.at[after - 1] : NULL;
	return c && address < c->end ? c->pad : 0;
}
