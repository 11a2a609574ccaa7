/*
 * Writes the journal (format: core/runtime/record.h), inside the application. There is one journal
 * per process and one writer per thread. journal_reserve() and journal_commit() are the hot path:
 * as long as the chunk has room, they take no lock and make no function or system call. All other
 * functions are rarely called: they take the next chunk, grow the file, or write to the dictionary.
 */
#ifndef CORE_JOURNAL_H
#define CORE_JOURNAL_H

#include "core/runtime/err.h"
#include "core/runtime/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A thread's position in its chunk. Only that thread uses it. All zeros is a valid start: the first
 * journal_reserve() then takes a chunk.
 */
struct journal_writer {
	uint8_t *cursor, *limit;     /* the next record's place; the end of the chunk */
	uint8_t *base;		     /* the start of the chunk */
	struct journal_chunk *chunk; /* NULL: the thread has no chunk */
	uint32_t slot;	/* the thread's number in the journal, from 1; 0: not assigned yet */
	uint32_t pause; /* how many records to drop before a free chunk is searched again */
	/* records dropped since the last REC_DROPPED, and when the first and last were dropped */
	uint64_t dropped, drop_first_ticks, drop_last_ticks;
};

/*
 * Creates the folder `folder`/journal and in it the file <pid>.journal, and maps the file. The file
 * takes at most `budget_bytes`. `clock_kind` is an enum journal_clock_kind. Called once per
 * process. Returns 0, or -errno with one line in `e`.
 */
int journal_open(const char *folder, uint64_t budget_bytes, uint32_t clock_kind, struct err *e);

/* Returns the mapped header, NULL until journal_open() has succeeded. */
struct journal_header *journal_header(void);

/* Forgets the parent's journal in a forked child, in which that journal is no longer mapped. */
void journal_forget(void);

/* Notes that the process exits normally, and stores the last clock point. Threads may still write
 * records afterwards. */
void journal_end(void);

/* Takes the next chunk and returns room in it for a record of `kind` and `bytes`. If there is no
 * chunk, counts the record as dropped and returns NULL. */
void *journal_next(struct journal_writer *w, uint8_t kind, uint32_t bytes);

/* Assigns a slot to the calling thread and writes the thread's name to the dictionary, unless this
 * has been done already. */
void journal_introduce(struct journal_writer *w);

/* Returns how many slots have been assigned: one per thread that has called CUDA. Any thread. */
uint32_t journal_threads(void);

/* Seals the thread's chunk, so that the collector may free it. Called when the thread ends. */
void journal_release(struct journal_writer *w);

/*
 * Returns room for one record of `kind` (enum record_kind) and `bytes`, a multiple of 8. Fill it,
 * then call journal_commit(). If there is no room, counts the record as dropped and returns NULL.
 */
static inline void *journal_reserve(struct journal_writer *w, uint8_t kind, uint32_t bytes)
{
	if (__builtin_expect((size_t)(w->limit - w->cursor) >= bytes, 1))
		return w->cursor;
	return journal_next(w, kind, bytes);
}

/*
 * How far ahead journal_commit() prefetches. The cache lines of a new chunk were last written on
 * the collector's core, by core/source/journal/ahead.c or by the kernel. Fetching such a line takes
 * 100 ns or more, and the application's next stores would wait for it. Prefetching three lines
 * ahead saves 3 to 9 us in a PyTorch step of 290 records.
 */
enum { JOURNAL_AHEAD_BYTES = 192 };

/* Publishes the record of `bytes` that was written to the room from journal_reserve(). */
static inline void journal_commit(struct journal_writer *w, uint32_t bytes)
{
	w->cursor += bytes;
	/* pairs with the reader's acquire load: all bytes below committed_bytes are complete */
	atomic_store_explicit(&w->chunk->committed_bytes, (uint32_t)(w->cursor - w->base),
			      memory_order_release);
	__builtin_prefetch(w->cursor + JOURNAL_AHEAD_BYTES, 1);
}

/*
 * Appends a record to the dictionary: `record_bytes` of `record`, then `text` with its NUL (may be
 * NULL). `record` begins with a struct dict_head of which only `kind` must be set. If there is no
 * room, counts a drop and returns false. Any thread may call this function at any time. It takes no
 * lock.
 */
bool journal_put(struct dict_head *record, size_t record_bytes, const char *text);

/* Raw bytes of a record. */
struct journal_part {
	const void *at;
	size_t bytes;
};

/* Like journal_put(), but appends the `n` parts instead of a text. */
bool journal_put_parts(struct dict_head *record, size_t record_bytes,
		       const struct journal_part *parts, size_t n);

/* Appends a DICT_INFO record. Returns false if there is no room. */
bool journal_put_info(const char *key, const char *value);

/*
 * Appends a DICT_STRING record. Returns the string's id, 0 if there is no room. Does not check
 * whether the text is in the dictionary already; the caller must do so.
 */
uint32_t journal_put_string(const char *text);

#endif
