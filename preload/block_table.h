/*
 * The live blocks of a framework's allocator: address -> size, stack, when. No lock: of each device one thread at a time adds and
 * removes (PyTorch reports inside the device's allocator lock), and any may go through them. A block stands within a few places of
 * where its address belongs, in the first table of its device that has one free; larger tables are mapped when they are needed. So a
 * look-up never has to go on to the first place that was never used, and places can be given back as they are.
 */
#ifndef PRELOAD_BLOCK_TABLE_H
#define PRELOAD_BLOCK_TABLE_H

#include "preload/hook.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCK_DEVICES = 32 };

struct block_entry {
	uint64_t address, bytes, made_ticks;
	uint32_t stack;
	uint8_t device; /* below BLOCK_DEVICES */
};

/* False: no place was left. `address` is not 0, and not in the table. */
bool block_table_add(const struct block_entry *e);

/* False: it is not there. */
bool block_table_remove(unsigned device, uint64_t address);

/* Calls for all that are there while it goes through: what comes or goes meanwhile may be seen or not. */
void block_table_each(void (*each)(void *context, const struct block_entry *e), void *context);

/* Empties it. */
void block_table_forget(void);

/* ---- The first table, which is all that most blocks meet: what is left of a look-up inside a wrapper ---- */

enum {
	/* 4,096 addresses, 32 KiB: with 1,000 blocks live (a language model's parameters, gradients and optimizer state) a report takes
	 * 2 to 6 ns more than nothing; with 512 places, which such a program fills, 24. */
	BLOCK_FIRST_BITS = 12,
	BLOCK_WITHIN = 16, /* places */
};

struct block_details {
	_Atomic uint64_t bytes, made_ticks;
	_Atomic uint32_t stack;
} __attribute__((aligned(32)));

/* A table of 1 << bits places. The addresses (0: free) stand apart from the rest: they are all that most look-ups read. One thread at a
 * time writes, so that no locked instruction is needed (9 ns); any may read. */
struct block_places {
	_Atomic uint64_t *addresses;
	struct block_details *details;
};

static inline struct block_places block_places(void *table, unsigned bits)
{
	return (struct block_places){ table, (void *)((_Atomic uint64_t *)table + (1u << bits)) };
}

/* The place of `wanted` (0: a free one) near to where `address` belongs, -1: none. Blocks begin at multiples of 512 bytes. */
static inline int64_t block_find(const _Atomic uint64_t *addresses, unsigned bits, uint64_t address,
				 uint64_t wanted)
{
	uint32_t mask = (1u << bits) - 1;
	uint32_t at = (uint32_t)((address >> 9) * 0x9E3779B97F4A7C15ull >> (64 - bits));
	for (uint32_t left = BLOCK_WITHIN; left; left--, at = (at + 1) & mask)
		if (atomic_load_explicit(&addresses[at], memory_order_relaxed) == wanted)
			return at;
	return -1;
}

/* Released each: who reads one of these sees that the block before them, if there was one, is gone. */
static inline void block_fill(struct block_places p, int64_t at, uint64_t address, uint64_t bytes,
			      uint64_t made_ticks, uint32_t stack)
{
	struct block_details *d = &p.details[at];
	atomic_store_explicit(&d->bytes, bytes, memory_order_release);
	atomic_store_explicit(&d->made_ticks, made_ticks, memory_order_release);
	atomic_store_explicit(&d->stack, stack, memory_order_release);
	atomic_store_explicit(&p.addresses[at], address, memory_order_release);
}

static inline void block_give_back(struct block_places p, int64_t at)
{
	atomic_store_explicit(&p.addresses[at], 0, memory_order_release);
}

/* Of each device; NULL where none was needed yet. */
enum { BLOCK_TABLES = 4 };
extern _Atomic(void *) block_tables[BLOCK_DEVICES][BLOCK_TABLES];

#endif
