/*
 * A device's last memory reports, one word each, before they are in its table of live blocks (block_table.h). Most blocks are given back within
 * the step that made them, so most reports never come to the table: amid a program that uses the caches a report so takes a third of what it does by
 * the table (test/bench/block_bench.sh).
 */
#ifndef PRELOAD_BLOCK_NOTES_H
#define PRELOAD_BLOCK_NOTES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	BLOCK_NOTES = 255, /* a step of ten layers with Adam has 220 */
	BLOCK_GRANULE_BITS =
		9, /* PyTorch's blocks begin at multiples of 512 bytes and are as large as some */
	BLOCK_SIZE_BITS = 25, /* of granules, with the sign */
	BLOCK_ADDRESS_BITS = 48,
};

typedef _Atomic uint64_t block_note;

static inline uint64_t block_rotate(uint64_t v)
{
	return v >> BLOCK_GRANULE_BITS | v << (64 - BLOCK_GRANULE_BITS);
}

/* `bytes` below 0: the block was given back. False: no note says that, since the address or the size is no multiple of 512, or the size is 8 GiB or more. */
static inline bool block_note_pack(uint64_t address, int64_t bytes, uint64_t *note)
{
	/* what is no multiple has bits at the top after this */
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

/* Which note is an address's last. */
struct block_notes_index {
	uint8_t places[512]; /* one more than its number; 0: free */
};

/* `n` at most BLOCK_NOTES. */
void block_notes_index(const block_note *notes, uint32_t n, struct block_notes_index *index);

/* Its number, -1: none of the notes is of that address. */
int block_notes_last(const struct block_notes_index *index, const block_note *notes,
		     uint64_t address);

/* What notes come to: bits by their numbers. */
struct block_notes_net {
	uint64_t gone[BLOCK_NOTES / 64 + 1]; /* of a block that no note before made */
	uint64_t made[BLOCK_NOTES / 64 + 1]; /* and not given back by a later one */
};

/* `n` at most BLOCK_NOTES. Takes 512 bytes of the stack. */
void block_notes_settle(const block_note *notes, uint32_t n, struct block_notes_net *net);

#endif
