/*
 * Writes the journal (format: core/runtime/record.h), inside the application. One journal per
 * process, one writer per thread. journal_reserve and journal_commit are the hot path: no lock, no
 * function call, no system call. Everything else is cold: taking the next chunk, growing the file,
 * the dictionary.
 */
#ifndef CORE_JOURNAL_H
#define CORE_JOURNAL_H

#include "core/runtime/err.h"
#include "core/runtime/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A thread's position in its chunk. All zeros is a valid start: the first reserve takes a chunk. */
struct journal_writer {
	uint8_t *cursor, *limit;
	uint8_t *base;
	struct journal_chunk *chunk;
	uint32_t slot;	/* 0: this thread has none yet; slots count from 1 */
	uint32_t pause; /* records to drop before the pool is searched again */
	uint64_t dropped, drop_first_ticks, drop_last_ticks;
};

/* Creates `folder`/journal/<pid>.journal, with its folders, and maps it. Once per process. Returns
 * 0 or -errno with one line in `e`. */
int journal_open(const char *folder, uint64_t budget_bytes, uint32_t clock_kind, struct err *e);

/* NULL until journal_open succeeded. */
struct journal_header *journal_header(void);

/* Forgets the parent's journal in a forked child, where it is not mapped any more. */
void journal_forget(void);

/* Marks the orderly exit and takes the closing clock point. Writers may continue. */
void journal_end(void);

/* Takes the next chunk for a record of `bytes`. NULL if there is none; the record is then counted
 * as dropped. Cold. */
void *journal_next(struct journal_writer *w, uint32_t bytes);

/* Assigns the writer's slot and writes the thread's name to the dictionary, unless that is done
 * already. Cold. */
void journal_introduce(struct journal_writer *w);

/* Returns how many slots were assigned so far: one per thread that has called CUDA. */
uint32_t journal_threads(void);

/* Seals the thread's chunk for the collector. Called when the thread ends. */
void journal_release(struct journal_writer *w);

/* Returns room for one record of `bytes` (a multiple of 8), or NULL (counted as a drop). Fill it,
 * then call journal_commit. */
static inline void *journal_reserve(struct journal_writer *w, uint32_t bytes)
{
	if (__builtin_expect((size_t)(w->limit - w->cursor) >= bytes, 1))
		return w->cursor;
	return journal_next(w, bytes);
}

/*
 * How far journal_commit prefetches. A chunk's cache lines were last written on the collector's
 * core, by core/source/journal/ahead.c or by the kernel; fetching one takes 100 ns or more, and the
 * application's next stores would wait for it. Prefetching three lines ahead saves 3 to 9 us in a
 * PyTorch step of 290 records.
 */
enum { JOURNAL_AHEAD_BYTES = 192 };

static inline void journal_commit(struct journal_writer *w, uint32_t bytes)
{
	w->cursor += bytes;
	/* pairs with the reader's acquire load: everything below committed_bytes is complete */
	atomic_store_explicit(&w->chunk->committed_bytes, (uint32_t)(w->cursor - w->base),
			      memory_order_release);
	__builtin_prefetch(w->cursor + JOURNAL_AHEAD_BYTES, 1);
}

/* Appends to the dictionary: `record_bytes` of `record`, which begins with a struct dict_head whose
 * kind is set, then `text` with its NUL (NULL: none). Returns false if there is no room (counted).
 * Any thread, any time; takes no lock. */
bool journal_put(struct dict_head *record, size_t record_bytes, const char *text);

/* Like journal_put, but appends `tail_bytes` raw bytes of `tail` in place of text. */
bool journal_put_tail(struct dict_head *record, size_t record_bytes, const void *tail,
		      size_t tail_bytes);

/* Appends a DICT_INFO record. */
bool journal_put_info(const char *key, const char *value);

/* Appends a DICT_STRING record. Returns the string's id, 0 if there is no room. The caller keeps
 * track of what it has interned. */
uint32_t journal_put_string(const char *text);

#endif
