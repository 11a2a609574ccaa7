/*
 * Tracks the blocks of a framework's caching allocator from the journal's records: the live blocks,
 * the allocator's totals and the peaks. Records wait here until their step is closed, because the
 * journal is read thread by thread, not in the order of time. Used by one thread only.
 */
#ifndef CORE_BLOCKS_H
#define CORE_BLOCKS_H

#include "core/model/memory.h"
#include "core/runtime/record.h"
#include "core/util/map.h"
#include "core/util/vec.h"

/* A block that was allocated and not freed yet. */
struct block_live {
	uint64_t address, bytes, made_ticks;
	uint32_t stack;
	uint8_t device;
};

struct block_record {
	struct rec_block r;
	uint32_t thread; /* slot of the thread that wrote it */
	uint64_t order;	 /* reading order; sorts records with equal ticks */
};

struct blocks {
	VEC(struct block_record) waiting;
	size_t n_sorted; /* waiting[0] to waiting[n_sorted - 1] are sorted */
	VEC(struct rec_memory) waiting_totals;
	VEC(struct block_live) live;
	struct map place_of;	     /* address -> index in live */
	struct allocator *allocator; /* totals and peaks, owned by the run */
	uint64_t n_taken;
	uint64_t n_windows; /* how often recording began */
};

/* Stores a record until its step is closed. */
void blocks_take(struct blocks *b, uint32_t thread, const struct rec_block *r);
void blocks_take_totals(struct blocks *b, const struct rec_memory *r);

/* Sorts `waiting` by time. Returns how many of its records lie before `end_ticks`. */
size_t blocks_cut(struct blocks *b, uint64_t end_ticks);

/* Updates the live blocks, totals and peaks with one record. */
void blocks_apply(struct blocks *b, const struct rec_block *r);

/*
 * Removes the first `n` waiting records. Applies the totals that were recorded up to `end_ticks`.
 */
void blocks_drop(struct blocks *b, size_t n, uint64_t end_ticks);

void blocks_free(struct blocks *b);

#endif
