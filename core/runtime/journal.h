/*
 * Writing the journal (format: core/runtime/record.h), inside the application. One journal per process, one writer per thread.
 * journal_reserve and journal_commit are the hot path: no lock, no call, no system call. Everything else is cold: taking
 * the next chunk, growing the file, the dictionary.
 */
#ifndef CORE_JOURNAL_H
#define CORE_JOURNAL_H

#include "core/runtime/err.h"
#include "core/runtime/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A thread's place in its chunk. All zero is a valid start: the first reserve takes a chunk. */
struct journal_writer {
	uint8_t *cursor, *limit;
	uint8_t *base;
	struct journal_chunk *chunk;
	uint32_t slot;	/* 0: this thread has none yet; slots count from 1 */
	uint32_t pause; /* records to drop before the pool is searched again */
	uint64_t dropped, drop_first_ticks, drop_last_ticks;
};

/* Makes `folder`/journal/<pid>.journal (folders too) and maps it. Once per process; 0 or -errno with one line in `e`. */
int journal_open(const char *folder, uint64_t budget_bytes, uint32_t clock_kind, struct err *e);

/* NULL until journal_open succeeded. */
struct journal_header *journal_header(void);

/* Forgets the parent's journal in a forked child; its mapping is not there any more. */
void journal_forget(void);

/* Marks the orderly end and takes the closing clock point. Writers may go on. */
void journal_end(void);

/* Next chunk for a record of `bytes`; NULL where there is none: the record is counted as dropped. Cold. */
void *journal_next(struct journal_writer *w, uint32_t bytes);

/* Gives the writer its slot and names the thread in the dictionary, if that has not happened yet. Cold. */
void journal_introduce(struct journal_writer *w);

/* Slots given so far: a new one is a thread that calls CUDA for the first time. */
uint32_t journal_threads(void);

/* Hands the thread's chunk over, at the thread's end. */
void journal_release(struct journal_writer *w);

/* Room for one record of `bytes` (a multiple of 8), or NULL (counted). Fill it, then journal_commit. */
static inline void *journal_reserve(struct journal_writer *w, uint32_t bytes)
{
	if (__builtin_expect((size_t)(w->limit - w->cursor) >= bytes, 1))
		return w->cursor;
	return journal_next(w, bytes);
}

/* A chunk's lines were last written by the collector's core (core/source/journal/ahead.c) or the kernel on it: to get one takes 100 ns and more, for
 * which the application's next stores would wait. Asked for three lines ahead, 3 to 9 us less in a PyTorch step of 290 records. */
enum { JOURNAL_AHEAD_BYTES = 192 };

static inline void journal_commit(struct journal_writer *w, uint32_t bytes)
{
	w->cursor += bytes;
	/* pairs with the reader's acquire load: what stands below committed_bytes is whole */
	atomic_store_explicit(&w->chunk->committed_bytes, (uint32_t)(w->cursor - w->base),
			      memory_order_release);
	__builtin_prefetch(w->cursor + JOURNAL_AHEAD_BYTES, 1);
}

/*
 * Appends to the dictionary: `record` begins with a struct dict_head whose kind is set, `record_bytes` of it, then `text`
 * with its NUL (NULL: none). False where there was no room (counted). Any thread, any time; takes no lock.
 */
bool journal_put(struct dict_head *record, size_t record_bytes, const char *text);

/* The same with `tail_bytes` of `tail` behind it, as they are. */
bool journal_put_tail(struct dict_head *record, size_t record_bytes, const void *tail,
		      size_t tail_bytes);

/* DICT_INFO: key and value. */
bool journal_put_info(const char *key, const char *value);

/* DICT_STRING: the new string's id, 0 where there was no room. The caller remembers what it interned. */
uint32_t journal_put_string(const char *text);

#endif
