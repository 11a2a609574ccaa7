/*
 * See pylines.h. Lines are computed in 64 bits, so that a damaged table cannot cause an overflow.
 */
#include "core/source/journal/pylines.h"

#include <stdbool.h>

/* The part of a table that is still to be read. */
struct cursor {
	const uint8_t *at, *end;
};

enum { NO_LINE = -128 }; /* 3.10: marks instructions without a line */

static uint32_t in_range(int64_t line, uint32_t otherwise)
{
	return line >= 0 && line <= INT32_MAX ? (uint32_t)line : otherwise;
}

/*
 * Reads the format up to 3.9: pairs of (bytes to advance, lines to advance). A line applies from
 * the address that the pair advances to.
 */
static uint32_t line_lnotab(struct cursor c, uint32_t first_line, uint32_t lasti)
{
	int64_t line = first_line;
	uint64_t address = 0;
	for (; c.end - c.at >= 2; c.at += 2) {
		address += c.at[0];
		if (address > lasti)
			break;
		line += (int8_t)c.at[1];
	}
	return in_range(line, first_line);
}

/*
 * Reads the format of 3.10: pairs of (bytes to advance, lines to advance). A line applies to the
 * bytes that its pair advances over.
 */
static uint32_t line_310(struct cursor c, uint32_t first_line, uint32_t lasti)
{
	int64_t line = first_line;
	uint64_t end = 0;
	for (; c.end - c.at >= 2; c.at += 2) {
		bool has_line = (int8_t)c.at[1] != NO_LINE;
		end += c.at[0];
		if (has_line)
			line += (int8_t)c.at[1];
		if (lasti < end)
			return has_line ? in_range(line, first_line) : first_line;
	}
	return first_line;
}

/*
 * Reads a number in groups of six bits, the lowest group first. Bit 6 of a byte is set if another
 * byte follows.
 */
static bool read_varint(struct cursor *c, uint32_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift <= 30; shift += 6) {
		if (c->at == c->end)
			return false;
		uint8_t byte = *c->at++;
		*value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			return true;
	}
	return false;
}

/* Adds a signed number to `*line`. The lowest bit of the encoded number is its sign. */
static bool read_line_step(struct cursor *c, int64_t *line)
{
	uint32_t value;
	if (!read_varint(c, &value))
		return false;
	*line += value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
	return true;
}

static bool skip_varints(struct cursor *c, unsigned n)
{
	uint32_t unused;
	while (n && read_varint(c, &unused))
		n--;
	return !n;
}

static bool skip_bytes(struct cursor *c, ptrdiff_t n)
{
	if (c->end - c->at < n)
		return false;
	c->at += n;
	return true;
}

/*
 * Forms of an entry in the location table of 3.11. Forms below FORM_ONE_LINE do not advance the
 * line and are followed by one byte of columns.
 */
enum { FORM_ONE_LINE = 10, FORM_NO_COLUMNS = 13, FORM_LONG = 14, FORM_NO_LINE = 15 };

/* Reads the rest of an entry after its first byte. Advances the line and skips the columns. */
static bool read_entry(struct cursor *c, unsigned form, int64_t *line)
{
	switch (form) {
	case FORM_NO_LINE:
		return true;
	case FORM_LONG: /* skips the end line, the column and the end column */
		return read_line_step(c, line) && skip_varints(c, 3);
	case FORM_NO_COLUMNS:
		return read_line_step(c, line);
	case FORM_ONE_LINE:
	case FORM_ONE_LINE + 1:
	case FORM_ONE_LINE + 2:
		*line += form - FORM_ONE_LINE;
		return skip_bytes(c, 2);
	default:
		return skip_bytes(c, 1);
	}
}

/* Reads the format from 3.11 on. An entry covers 1 to 8 code units of 2 bytes each. */
static uint32_t line_311(struct cursor c, uint32_t first_line, uint32_t lasti)
{
	int64_t line = first_line;
	uint64_t end = 0;
	while (c.at < c.end) {
		uint8_t head = *c.at++;
		unsigned form = head >> 3 & 15;
		end += 2 * ((head & 7u) + 1);
		if (!read_entry(&c, form, &line))
			break;
		if (lasti < end)
			return form == FORM_NO_LINE ? first_line : in_range(line, first_line);
	}
	return first_line;
}

uint32_t pylines_line(enum line_table kind, const uint8_t *table, size_t bytes, uint32_t first_line,
		      uint32_t lasti)
{
	struct cursor all = { table, table + bytes };
	if (!bytes || lasti == FRAME_LASTI_UNKNOWN)
		return first_line;
	switch (kind) {
	case LINES_LNOTAB:
		return line_lnotab(all, first_line, lasti);
	case LINES_310:
		return line_310(all, first_line, lasti);
	case LINES_311:
		return line_311(all, first_line, lasti);
	case LINES_NONE:
		break;
	}
	return first_line;
}
