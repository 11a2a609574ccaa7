/* See fuzz.h. A change that hits what the reader checks first is undone in most cases. */
#include "core/runtime/record.h"
#include "test/fuzz/fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct mutation {
	uint8_t *data;
	size_t size, size_most;
	uint64_t random; /* state of the generator, never 0 */
	/* the layout, limited to the input */
	size_t directory, dictionary, dictionary_end, chunks, chunk_bytes, n_chunks;
};

/* xorshift64 */
static uint64_t draw(struct mutation *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random >> 8;
}

static size_t below(struct mutation *m, size_t n)
{
	return n ? draw(m) % n : 0;
}

static size_t at_most(uint64_t value, size_t limit)
{
	return value < limit ? (size_t)value : limit;
}

static bool find_layout(struct mutation *m)
{
	const struct journal_header *h = (const struct journal_header *)m->data;
	if (m->size < sizeof(*h))
		return false;
	m->directory = at_most(h->directory_offset, m->size) & ~7ul;
	m->dictionary = at_most(h->dictionary_offset, m->size) & ~7ul;
	m->dictionary_end =
		m->dictionary + at_most(h->dictionary_used_bytes, m->size - m->dictionary);
	m->chunks = at_most(h->chunks_offset, m->size) & ~7ul;
	m->chunk_bytes = h->chunk_bytes;
	m->n_chunks = at_most(h->n_chunks, (m->size - m->directory) / sizeof(struct journal_chunk));
	return true;
}

static struct journal_chunk *entry(struct mutation *m, size_t i)
{
	return (struct journal_chunk *)(m->data + m->directory) + i;
}

/* ---- Values ---- */

static uint64_t value_of(const uint8_t *at, size_t bytes)
{
	uint64_t value = 0;
	memcpy(&value, at, bytes);
	return value;
}

/* Returns a value for a field of `bytes` bytes that contains `old`. */
static uint64_t new_value(struct mutation *m, uint64_t old, size_t bytes)
{
	static const uint64_t edges[] = { 0,	      1,	  2,	      8,
					  255,	      0x7fff,	  0xffff,     0x7fffffff,
					  0xffffffff, 1ull << 39, 1ull << 48, 1ull << 62,
					  INT64_MAX,  UINT64_MAX };
	size_t other = m->size > bytes ? below(m, m->size - bytes) : 0;
	switch (below(m, 6)) {
	case 0:
		return edges[below(m, sizeof(edges) / sizeof(*edges))];
	case 1:
		return old ^ 1ull << below(m, 8 * bytes);
	case 2:
		return old + below(m, 33) - 16;
	case 3: /* such as a time or an id of another record */
		return value_of(m->data + (other & -bytes), bytes);
	case 4:
		return old + (below(m, 2) ? 1 : -1) * (draw(m) >> below(m, 56));
	default:
		return draw(m);
	}
}

/* Changes a field of 1, 2, 4 or 8 bytes in [begin, end). */
static void change_field(struct mutation *m, size_t begin, size_t end)
{
	size_t bytes = (size_t)1 << below(m, 4);
	if (end > m->size || begin + bytes > end)
		return;
	size_t at = begin + bytes * below(m, (end - begin) / bytes);
	uint64_t value = new_value(m, value_of(m->data + at, bytes), bytes);
	memcpy(m->data + at, &value, bytes);
}

/* ---- Records ---- */

struct span {
	size_t begin, end;
};

/* Returns a chunk's committed bytes, as far as the input has them. */
static struct span records_of(struct mutation *m, size_t i)
{
	struct span s = { m->chunks + i * m->chunk_bytes, 0 };
	size_t committed = at_most(entry(m, i)->committed_bytes, m->chunk_bytes);
	s.begin = at_most(s.begin, m->size);
	s.end = s.begin + at_most(committed, m->size - s.begin);
	return s;
}

/* Returns the whole record that begins at `at`, empty if there is none. */
static struct span record_at(const struct mutation *m, size_t at, size_t end)
{
	size_t bytes = at + 8 <= end ? (size_t)m->data[at + 1] * 8 : 0;
	return bytes && bytes <= end - at ? (struct span){ at, at + bytes } : (struct span){ 0 };
}

/* Returns a record of the chunk, each with the same chance; empty if there is none. */
static struct span any_record(struct mutation *m, struct span all)
{
	struct span found = { 0 };
	size_t n = 0;
	for (struct span r; (r = record_at(m, all.begin, all.end)).end; all.begin = r.end)
		if (!below(m, ++n))
			found = r;
	return found;
}

static struct span any_record_anywhere(struct mutation *m, size_t *chunk)
{
	*chunk = below(m, m->n_chunks);
	return m->n_chunks ? any_record(m, records_of(m, *chunk)) : (struct span){ 0 };
}

static void change_record(struct mutation *m)
{
	size_t chunk;
	struct span r = any_record_anywhere(m, &chunk);
	change_field(m, r.begin + 2 * below(m, 2), r.end);
}

static void remove_record(struct mutation *m)
{
	size_t chunk;
	struct span r = any_record_anywhere(m, &chunk);
	if (!r.end)
		return;
	size_t end = records_of(m, chunk).end;
	memmove(m->data + r.begin, m->data + r.end, end - r.end);
	entry(m, chunk)->committed_bytes -= (uint32_t)(r.end - r.begin);
}

/* Puts a copy of one record before another one, which may be in another chunk. Drops the last
 * records of the chunk if there is no room. */
static void copy_record(struct mutation *m)
{
	size_t from_chunk, chunk;
	uint8_t copy[256 * 8];
	struct span from = any_record_anywhere(m, &from_chunk), to = any_record_anywhere(m, &chunk);
	size_t n = from.end - from.begin;
	if (!from.end || !to.end)
		return;
	struct span all = records_of(m, chunk);
	size_t limit = at_most(m->chunks + (chunk + 1) * m->chunk_bytes, m->size);
	if (to.begin + n > limit)
		return;
	memcpy(copy, m->data + from.begin, n);
	memmove(m->data + to.begin + n, m->data + to.begin,
		at_most(all.end - to.begin, limit - to.begin - n));
	memcpy(m->data + to.begin, copy, n);
	entry(m, chunk)->committed_bytes = (uint32_t)(at_most(all.end + n, limit) - all.begin);
}

static void change_dictionary(struct mutation *m)
{
	struct span found = { 0 };
	size_t n = 0;
	for (size_t at = m->dictionary; at + 8 <= m->dictionary_end;) {
		size_t bytes = value_of(m->data + at + 4, 4);
		if (bytes < 8 || bytes > m->dictionary_end - at)
			break;
		if (!below(m, ++n))
			found = (struct span){ at, at + bytes };
		at += bytes;
	}
	if (!found.end)
		return;
	if (below(m, 3))
		change_field(m, found.begin + (below(m, 8) ? 8 : 0), found.end);
	else if (found.end - found.begin > 8) /* such as a text, a line table or bytecode */
		LLVMFuzzerMutate(m->data + found.begin + 8, found.end - found.begin - 8,
				 found.end - found.begin - 8);
}

/* ---- The whole ---- */

static void change_directory(struct mutation *m)
{
	if (!m->n_chunks)
		return;
	size_t at = m->directory + below(m, m->n_chunks) * sizeof(struct journal_chunk);
	change_field(m, at, at + offsetof(struct journal_chunk, padding));
}

static void change_header(struct mutation *m)
{
	size_t end = sizeof(struct journal_header);
	if (below(m, 8)) /* not the text that the program has written last */
		change_field(m, offsetof(struct journal_header, clock) & ~7ul,
			     offsetof(struct journal_header, words));
	else
		change_field(m, offsetof(struct journal_header, chunk_bytes), end);
}

static void change_once(struct mutation *m)
{
	size_t kind = below(m, 32);
	if (kind < 12)
		change_record(m);
	else if (kind < 15)
		remove_record(m);
	else if (kind < 19)
		copy_record(m);
	else if (kind < 25)
		change_dictionary(m);
	else if (kind < 28)
		change_header(m);
	else if (kind < 30)
		change_directory(m);
	else if (kind < 31)
		m->size = LLVMFuzzerMutate(m->data, m->size, m->size_most);
	else
		m->size = m->size / 2 + below(m, m->size / 2 + 1);
}

size_t mutate_journal(uint8_t *data, size_t size, size_t size_most, unsigned seed)
{
	struct mutation m = { .data = data,
			      .size = size,
			      .size_most = size_most,
			      .random = seed * 0x9e3779b97f4a7c15ull + 1 };
	const size_t identity = offsetof(struct journal_header, chunk_bytes);
	uint8_t before[64];
	if (size < sizeof(struct journal_header))
		return LLVMFuzzerMutate(data, size, size_most);
	memcpy(before, data, identity);
	for (size_t i = 0, n = 1 + below(&m, 6); i < n && find_layout(&m); i++)
		change_once(&m);
	if (m.size >= identity && below(&m, 64))
		memcpy(data, before, identity);
	return m.size;
}
