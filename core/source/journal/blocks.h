/*
 * Blocks of a framework's caching allocator, from the journal's records: which are live, what the allocator holds, its peaks. Records
 * wait until the step that they are of is closed, since those of several threads come one thread after the other. One owner.
 */
#ifndef CORE_BLOCKS_H
#define CORE_BLOCKS_H

#include "core/model/memory.h"
#include "core/runtime/record.h"
#include "core/util/map.h"
#include "core/util/vec.h"

/* Given out, and not taken back yet. */
struct block_live {
	uint64_t address, bytes, made_ticks;
	uint32_t stack;
	uint8_t device;
};

struct block_record {
	struct rec_block r;
	uint32_t thread; /* slot */
	uint64_t order;	 /* as they came: of equal ticks the earlier one is first */
};

struct blocks {
	VEC(struct block_record) waiting;
	size_t n_sorted; /* of those waiting */
	VEC(struct rec_memory) waiting_held;
	VEC(struct block_live) live;
	struct map place_of;	     /* address -> index in live */
	struct allocator *allocator; /* the run's: what the allocator holds, and its peaks */
	uint64_t n_taken;
	uint64_t n_windows; /* times that recording began */
};

void blocks_take(struct blocks *b, uint32_t thread, const struct rec_block *r);
void blocks_take_held(struct blocks *b, const struct rec_memory *r);

/* What was taken and is before `end_ticks`, in order of time; valid until blocks_drop. How many. */
size_t blocks_cut(struct blocks *b, uint64_t end_ticks);

/* One of them takes effect. */
void blocks_apply(struct blocks *b, const struct rec_block *r);

/* The first n records are done with; held sizes up to and with `end_ticks` become what is held. */
void blocks_drop(struct blocks *b, size_t n, uint64_t end_ticks);

void blocks_free(struct blocks *b);

#endif
