/*
 * Reads a journal, while its process writes it or afterwards. Returns the records of chunks, in
 * order within each thread, and the dictionary's records. Trusts nothing in the file: checks every
 * offset and size against the file's real size, and uses the layout as it was when the journal was
 * opened. Copies chunks with pread(), which returns fewer bytes if the file is truncated meanwhile.
 * If a live journal is truncated, its mapped pages read as zeros (core/runtime/journal_guard.h).
 * One thread.
 */
#ifndef CORE_READER_H
#define CORE_READER_H

#include "core/runtime/err.h"
#include "core/runtime/journal_guard.h"
#include "core/runtime/record.h"
#include "core/source/journal/plausible.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A chunk that has been read up to `offset` so far. */
struct reader_chunk {
	uint64_t claim;
	uint32_t index, thread, offset;
	bool is_cut; /* the file's end has cut it off */
};

/* A chunk that has been read to its end. `tag` is 0 at first; the caller may use it. */
struct reader_finished {
	uint32_t index;
	uint64_t tag;
};

struct reader {
	int fd;
	/* header and directory are mapped and writable; otherwise they are a private copy */
	bool is_live;
	bool is_truncated;   /* the file is shorter than its header says */
	bool has_read;	     /* at least one record has been read */
	bool is_in_gap;	     /* searching for the next dictionary record in damaged data */
	uint64_t file_bytes; /* the file's size when it was opened, or truncated since */
	/* the layout that the header gave, checked */
	uint64_t whole_bytes, dictionary_offset, chunks_offset;
	uint32_t chunk_bytes;
	struct journal_guard guard; /* of the mapped header, directory and dictionary */
	struct plausible plausible;
	uint8_t *meta;
	size_t meta_bytes;
	struct journal_header *header;
	struct journal_chunk *directory;
	uint32_t n_chunks; /* chunks whose directory entry lies within the file's real size */
	/* size of the part of the dictionary that lies within the file's real size */
	uint64_t dictionary_bytes;
	uint64_t dictionary_at;
	uint64_t *seen;		       /* by chunk: the newest claim that was added to `open` */
	VEC(struct reader_chunk) open; /* ordered by claim */
	VEC(struct reader_finished) finished; /* sealed chunks that have been read to their end */
	size_t next; /* index in `open` of the chunk that this pass reads next */
	uint8_t *buffer;
	uint64_t n_claims;  /* the most claims that the header has contained */
	uint64_t n_taken;   /* how many claims were added to `open` in total */
	uint64_t n_cut;	    /* live only: chunks that the file's end cut off */
	uint64_t n_freed;   /* chunks recycled */
	uint32_t n_reached; /* chunks below this index have been used */
	uint64_t n_records;
	uint64_t n_damaged; /* places with invalid data, where the rest of the chunk was skipped */
	uint64_t n_impossible; /* records that plausible_record() rejected; only if not live */
};

/* Consecutive records of one thread. Valid until the next batch is read. */
struct reader_batch {
	uint32_t thread; /* slot of the thread */
	bool is_start;	 /* they are the first ones of their chunk */
	const uint8_t *at, *end;
};

/*
 * Opens the journal at `path`. `live`: maps it shared and writable, for the collector; otherwise
 * reads its present contents. Returns 0, or -errno with one line in `e`. After 0, close with
 * reader_close().
 */
int reader_open(struct reader *r, const char *path, bool live, struct err *e);
void reader_close(struct reader *r);

/* Begins a pass over everything that was written since the last pass. */
void reader_begin_pass(struct reader *r);

/*
 * Reads the next batch of the pass. Chunks come in the order in which they were claimed. Returns
 * false at the end of the pass.
 */
bool reader_next_batch(struct reader *r, struct reader_batch *batch);

/*
 * Sets the question whether this program should end now. While it returns true, journals seem to
 * have no further batches, and steps that were read are not passed on any more. It is asked before
 * each batch and each step. NULL: never.
 */
void reader_ask_to_stop(bool (*must_stop)(void));
bool reader_must_stop(void);

/*
 * Returns the next complete record of the batch, NULL at its end. The record is at least as large
 * as its kind requires.
 */
const struct rec_head *reader_next_record(struct reader *r, struct reader_batch *batch);

/*
 * Returns the next dictionary record, NULL if there is none yet. `is_final`: no process writes the
 * journal any more.
 */
const struct dict_head *reader_next_dictionary(struct reader *r, bool is_final);

/*
 * Returns the text at `offset` bytes in a dictionary record. Returns NULL if its NUL is not within
 * the record.
 */
const char *reader_dictionary_text(const struct dict_head *record, size_t offset);

/* Live only: returns chunk `index`, which is in `finished`, to the library for reuse. */
void reader_free_chunk(struct reader *r, uint32_t index);

/* Live only: returns how many chunks the library can still claim, with or without disk space. */
uint32_t reader_count_free(const struct reader *r);

/* Live only: returns how many chunks in use have not been read to their end. */
uint64_t reader_count_unread(const struct reader *r);

/*
 * Returns how many readers of this program have read records of journals that were not live. Tests
 * use this to count how often a journal is read.
 */
uint64_t reader_count_passes(void);

/*
 * Truncates the unused end of a journal. No process may write the journal any more: a store beyond
 * the new end would kill that process. Returns 0, or -errno with one line in `e`.
 */
int reader_shrink(const char *path, struct err *e);

#endif
