/*
 * The latest memory reports of a device, packed into one word each. They are collected here before
 * they go into its table of live blocks (block_table.h). Most blocks are freed within the step that
 * allocated them, so most reports never reach the table. In a program that keeps the caches busy a
 * report therefore costs a third of a table update (test/bench/block_bench.sh).
 */
#ifndef PRELOAD_BLOCK_NOTES_H
#define PRELOAD_BLOCK_NOTES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	BLOCK_NOTES = 255,	/* a step of ten layers with Adam has 220 */
	BLOCK_GRANULE_BITS = 9, /* address and size of PyTorch's blocks are multiples of 512 */
	BLOCK_SIZE_BITS = 25,	/* in granules, sign included */
	BLOCK_ADDRESS_BITS = 48,
};

typedef _Atomic uint64_t block_note;

static inline uint64_t block_rotate(uint64_t v)
{
	return v >> BLOCK_GRANULE_BITS | v << (64 - BLOCK_GRANULE_BITS);
}

/*
 * Packs an allocation, or a free if `bytes` is negative. Returns false if it does not fit: address
 * or size is not a multiple of 512, or the size is 8 GiB or more.
 */
static inline bool block_note_pack(uint64_t address, int64_t bytes, uint64_t *note)
{
	/* after the rotation a value that is not a multiple has bits set at the top */
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

/* A hash table from address to its last note. */
struct block_notes_index {
	uint8_t places[512]; /* number of the note + 1; 0: free */
};

/* `n` at most BLOCK_NOTES. */
void block_notes_index(const block_note *notes, uint32_t n, struct block_notes_index *index);

/* Returns the number of the address's last note, or -1 if it has none. */
int block_notes_last(const struct block_notes_index *index, const block_note *notes,
		     uint64_t address);

/* The net effect of a list of notes; one bit per note. */
struct block_notes_net {
	uint64_t gone[BLOCK_NOTES / 64 + 1]; /* frees a block that no earlier note allocated */
	uint64_t made[BLOCK_NOTES / 64 + 1]; /* allocates a block that no later note frees */
};

/* `n` at most BLOCK_NOTES. Uses 512 bytes of stack. */
void block_notes_settle(const block_note *notes, uint32_t n, struct block_notes_net *net);

#endif
