/*
 * Reads a journal, finished or while its process still writes: the chunks' records, in order within
 * each thread, and the dictionary's. Nothing in the file is trusted: every offset and size is
 * checked against the file's real size. Chunk data are copied with pread, so that a file truncated
 * meanwhile gives fewer records, not SIGBUS.
 */
#ifndef CORE_READER_H
#define CORE_READER_H

#include "core/runtime/err.h"
#include "core/runtime/record.h"
#include "core/source/journal/plausible.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A chunk being read, so far up to `offset`. */
struct reader_chunk {
	uint64_t claim;
	uint32_t index, thread, offset;
};

/* `tag` is for the caller's use, 0 at first. */
struct reader_finished {
	uint32_t index;
	uint64_t tag;
};

struct reader {
	int fd;
	bool is_live;	     /* header and directory are mapped and writable; else a private copy */
	bool is_truncated;   /* the file is shorter than its header says */
	bool has_read;	     /* some records */
	bool is_in_gap;	     /* looking for the next dictionary record */
	uint64_t file_bytes; /* when it was opened */
	struct plausible plausible;
	uint8_t *meta;
	size_t meta_bytes;
	struct journal_header *header;
	struct journal_chunk *directory;
	uint32_t n_chunks;	   /* within the file's real size */
	uint64_t dictionary_bytes; /* within the file's real size */
	uint64_t dictionary_at;
	uint64_t *seen;		       /* per chunk: the last claim that was added to `open` */
	VEC(struct reader_chunk) open; /* by claim */
	VEC(struct reader_finished) finished; /* chunks sealed and read to their end */
	size_t next;			      /* in `open`, of this pass */
	uint8_t *buffer;
	uint64_t n_taken;   /* claims added to `open` in total */
	uint64_t n_freed;   /* chunks recycled */
	uint32_t n_reached; /* chunks below this have been in use */
	uint64_t n_records;
	uint64_t n_damaged;    /* places with invalid data; the rest of the chunk is skipped */
	uint64_t n_impossible; /* records skipped by plausible_record(), not live */
};

/* Consecutive records of one thread. */
struct reader_batch {
	uint32_t thread; /* slot */
	const uint8_t *at, *end;
};

/* `live`: map it shared (the collector); else read it as it is now. Returns 0, or -errno with one
 * line in `e`. */
int reader_open(struct reader *r, const char *path, bool live, struct err *e);
void reader_close(struct reader *r);

/* Begins a pass over everything that is new. */
void reader_begin_pass(struct reader *r);

/* Reads the next batch of this pass, in the order in which the chunks were claimed. Returns false
 * at the end of the pass. */
bool reader_next_batch(struct reader *r, struct reader_batch *batch);

/* Returns the next whole record, NULL at the end. Its size was checked against its kind. */
const struct rec_head *reader_next_record(struct reader *r, struct reader_batch *batch);

/* Returns the next dictionary record, NULL if there is none yet. `is_final`: the journal has no
 * writer any more. */
const struct dict_head *reader_next_dictionary(struct reader *r, bool is_final);

/* Returns the text at `offset` of a dictionary record, NULL unless it ends within the record. */
const char *reader_dictionary_text(const struct dict_head *record, size_t offset);

/* Live only: returns chunk `index` (from `finished`) to the library. */
void reader_free_chunk(struct reader *r, uint32_t index);

/* Live only: returns how many chunks the library can still claim, backed or not. */
uint32_t reader_count_free(const struct reader *r);

/*
 * Returns how many readers of this program have read records that were not live. Of one journal that
 * is how often it was read; tests check it.
 */
uint64_t reader_count_passes(void);

/* Truncates the unused rest of a journal. It must have no writer any more: a store beyond the new
 * end would kill the process. */
int reader_shrink(const char *path, struct err *e);

#endif
