/*
 * A note is one of PyTorch's memory reports (blocks.h), packed into one word. The latest reports of
 * a device are collected as notes before they are applied to the device's table of live blocks
 * (block_table.h). Most blocks are freed within the step that allocated them. The notes of such a
 * block cancel each other and never reach the table. In a program that keeps the CPU's caches busy,
 * a report therefore costs a third of a table update (test/bench/block_bench.sh).
 */
#ifndef PRELOAD_BLOCK_NOTES_H
#define PRELOAD_BLOCK_NOTES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	BLOCK_NOTES = 255, /* room per device; a step of ten layers with Adam has 220 */
	/* address and size of PyTorch's blocks are multiples of 512 bytes */
	BLOCK_GRANULE_BITS = 9,
	BLOCK_SIZE_BITS = 25, /* bits of a size in units of 512 bytes, sign included */
	BLOCK_ADDRESS_BITS = 48,
};

typedef _Atomic uint64_t block_note;

static inline uint64_t block_rotate(uint64_t v)
{
	return v >> BLOCK_GRANULE_BITS | v << (64 - BLOCK_GRANULE_BITS);
}

/*
 * Packs an allocation of `bytes` at `address` into `*note`. A negative `bytes` means a free.
 * Returns false if the report does not fit into a note: address or size is not a multiple of 512
 * bytes, or the size is 8 GiB or more.
 */
static inline bool block_note_pack(uint64_t address, int64_t bytes, uint64_t *note)
{
	/* a value that is not a multiple of 512 has bits set at the top after the rotation */
	uint64_t where = block_rotate(address),
		 size = block_rotate((uint64_t)bytes +
				     (1ull << (BLOCK_GRANULE_BITS + BLOCK_SIZE_BITS - 1)));
	*note = where << BLOCK_SIZE_BITS | size;
	return !(where >> (BLOCK_ADDRESS_BITS - BLOCK_GRANULE_BITS) | size >> BLOCK_SIZE_BITS);
}

static inline uint64_t block_note_address(uint64_t note)
{
	return note >> BLOCK_SIZE_BITS << BLOCK_GRANULE_BITS;
}

static inline int64_t block_note_bytes(uint64_t note)
{
	int64_t granules =
		(int64_t)(note & ((1u << BLOCK_SIZE_BITS) - 1)) - (1 << (BLOCK_SIZE_BITS - 1));
	return granules * (1 << BLOCK_GRANULE_BITS);
}

/* A hash table that maps an address to the last note about it. */
struct block_notes_index {
	uint8_t places[512]; /* index of the note, plus 1; 0: the slot is free */
};

/* Fills `index` from `n` notes, at most BLOCK_NOTES. */
void block_notes_index(const block_note *notes, uint32_t n, struct block_notes_index *index);

/* Returns the index of the last note about `address`, or -1 if there is none. */
int block_notes_last(const struct block_notes_index *index, const block_note *notes,
		     uint64_t address);

/* The net effect of a list of notes on the set of live blocks. Each note has one bit. */
struct block_notes_net {
	/* the note frees a block that no earlier note allocated */
	uint64_t gone[BLOCK_NOTES / 64 + 1];
	/* the note allocates a block that no later note frees */
	uint64_t made[BLOCK_NOTES / 64 + 1];
};

/* Computes the net effect of `n` notes, at most BLOCK_NOTES. Uses 512 bytes of stack. */
void block_notes_settle(const block_note *notes, uint32_t n, struct block_notes_net *net);

#endif
