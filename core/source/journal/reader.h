/*
 * Reading a journal: the file as it stands, or while its process writes on. Gives the chunks' records thread by thread in
 * order, and the dictionary's. Nothing in the file is trusted: every offset and size is checked against the file's real
 * size, chunk data are copied out with pread (a file cut short under us gives fewer records, not SIGBUS).
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

/* A chunk under way: read up to `offset`. */
struct reader_chunk {
	uint64_t claim;
	uint32_t index, thread, offset;
};

/* `tag` is the caller's, 0 at first. */
struct reader_finished {
	uint32_t index;
	uint64_t tag;
};

struct reader {
	int fd;
	bool is_live;	     /* header and directory are mapped and writable; else a private copy */
	bool is_truncated;   /* the file is shorter than its header says */
	bool has_read;	     /* some records */
	bool is_in_gap;	     /* the dictionary's walk looks for the next thing that is a record */
	uint64_t file_bytes; /* when it was opened */
	struct plausible plausible;
	uint8_t *meta;
	size_t meta_bytes;
	struct journal_header *header;
	struct journal_chunk *directory;
	uint32_t n_chunks;	   /* as far as the file goes */
	uint64_t dictionary_bytes; /* as far as the file goes */
	uint64_t dictionary_at;
	uint64_t *seen;		       /* per chunk: the claim that was taken into `open` last */
	VEC(struct reader_chunk) open; /* by claim */
	VEC(struct reader_finished) finished; /* chunks sealed and read to their end */
	size_t next;			      /* in `open`, of this pass */
	uint8_t *buffer;
	uint64_t n_taken;   /* claims taken into `open`, all in all */
	uint64_t n_freed;   /* chunks given back */
	uint32_t n_reached; /* chunks below this have been in use */
	uint64_t n_records,
		n_damaged;     /* records given; places where the rest of a chunk made no sense */
	uint64_t n_impossible; /* records left out, not live: core/source/journal/plausible.h */
};

/* The records of one piece of one thread's stream. */
struct reader_batch {
	uint32_t thread; /* slot */
	const uint8_t *at, *end;
};

/* `live`: map it for both sides (the collector); else read it as it is now. 0 or -errno with one line in `e`. */
int reader_open(struct reader *r, const char *path, bool live, struct err *e);
void reader_close(struct reader *r);

/* Begins a pass over everything that is new. */
void reader_begin_pass(struct reader *r);

/* The next piece of this pass, in the order in which threads took their chunks; false at the pass's end. */
bool reader_next_batch(struct reader *r, struct reader_batch *batch);

/* The next whole record, NULL at the end. Its size was checked against its kind. */
const struct rec_head *reader_next_record(struct reader *r, struct reader_batch *batch);

/* The next dictionary record, NULL where no further one is there yet. `is_final`: nobody writes any more. */
const struct dict_head *reader_next_dictionary(struct reader *r, bool is_final);

/* The text at `offset` of a dictionary record, NULL unless it ends within the record. */
const char *reader_dictionary_text(const struct dict_head *record, size_t offset);

/* Live only: gives `index` (from `finished`) back to the library. */
void reader_free_chunk(struct reader *r, uint32_t index);

/* Live only: chunks the library could still take, backed or not. */
uint32_t reader_count_free(const struct reader *r);

/*
 * Returns how many readers of this program have read records that were not live. Of one journal that
 * is how often it was read; tests check it.
 */
uint64_t reader_count_passes(void);

/* Cuts off what was never used of a journal that nobody writes any more: a store of a living process would kill it. */
int reader_shrink(const char *path, struct err *e);

#endif
