/* See damage.h. */
#include "core/source/journal/damage.h"

#include "core/util/text.h"

#include <inttypes.h>
#include <stdio.h>

struct missing {
	bool directory, names;
	uint32_t chunks, of_chunks;
};

/* Counts the chunks in use, and how many of these extend beyond the file's end. */
static struct missing find_missing(const struct reader *r)
{
	const struct journal_header *h = r->header;
	struct missing m = {
		.directory = h->n_chunks > r->n_chunks && atomic_load(&h->chunk_claims),
		.names = atomic_load(&h->dictionary_used_bytes) > r->dictionary_bytes,
	};
	for (uint32_t i = 0; i < r->n_chunks; i++) {
		const struct journal_chunk *c = &r->directory[i];
		uint64_t end = r->chunks_offset + (uint64_t)i * r->chunk_bytes +
			       atomic_load(&c->committed_bytes);
		if (atomic_load(&c->state) == CHUNK_FREE)
			continue;
		m.of_chunks++;
		m.chunks += end > r->file_bytes;
	}
	return m;
}

/* Says what was lost because the file was truncated while it was read. */
static void say_lost(char *to, size_t bytes, const struct reader *r)
{
	const size_t counter = offsetof(struct journal_header, chunk_claims);
	uint64_t unread = r->n_claims > r->n_taken ? r->n_claims - r->n_taken : 0;
	uint64_t n_lost = r->n_cut + unread;
	bool is_least = r->file_bytes < counter + sizeof(r->header->chunk_claims);
	if (!n_lost && !is_least)
		return;
	text_append(to, bytes,
		    "the journal was truncated to %" PRIu64 " of %" PRIu64
		    " bytes during the run: ",
		    r->file_bytes, r->whole_bytes);
	if (n_lost)
		text_append(to, bytes, "%s%" PRIu64 " of %" PRIu64 " chunks of records are lost",
			    is_least ? "at least " : "", n_lost, r->n_claims);
	else
		text_append(to, bytes, "all later records are lost");
}

static void say_missing(char *to, size_t bytes, const struct reader *r)
{
	struct missing m;
	if (r->is_live) {
		say_lost(to, bytes, r);
		return;
	}
	m = find_missing(r);
	if (!m.directory && !m.names && !m.chunks)
		return;
	text_append(to, bytes, "the journal is cut short at byte %" PRIu64 " of %" PRIu64 ": ",
		    r->file_bytes, r->whole_bytes);
	bool has_records = m.directory || m.chunks;
	if (m.directory || (m.chunks && m.chunks == m.of_chunks))
		text_append(to, bytes, "its records");
	else if (m.chunks)
		text_append(to, bytes, "%u of its %u chunks of records", m.chunks, m.of_chunks);
	if (m.names)
		text_append(to, bytes, "%snames of kernels and lines", has_records ? " and " : "");
	text_append(to, bytes, " are missing; copy the whole journal file");
}

char *damage_say(char *to, size_t bytes, const struct reader *r, const struct dict *d)
{
	uint64_t places = r->n_damaged + d->n_damaged;
	to[0] = 0;
	if (r->is_truncated)
		say_missing(to, bytes, r);
	if (*to)
		/*
		 * the file's end may also have cut a record in two; do not report that as further
		 * damage
		 */
		return to;
	if (places || r->n_impossible)
		text_append(to, bytes, "the journal is damaged: ");
	if (places)
		text_append(to, bytes, "%" PRIu64 " invalid place%s", places,
			    places > 1 ? "s" : "");
	if (r->n_impossible)
		text_append(to, bytes, "%s%" PRIu64 " record%s with impossible values",
			    places ? ", " : "", r->n_impossible, r->n_impossible > 1 ? "s" : "");
	if (*to)
		text_append(to, bytes,
			    "; they were skipped, and there may be undetected damage: copy the "
			    "journal "
			    "file again if you can");
	return to;
}
