/*
 * A table of the live blocks of a framework's allocator: address -> size, stack, time. Takes no
 * lock. Only one thread at a time adds and removes the blocks of a device, because PyTorch reports
 * them while it holds the device's allocator lock. Any thread may iterate.
 *
 * Each device has several hash tables of growing size, which are mapped on demand. A block is
 * stored in the first table that has a free slot within a few slots of the block's hash. So a
 * look-up probes a fixed number of slots per table. It needs no unused slot to stop at, and a freed
 * slot needs no tombstone.
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
	uint32_t stack; /* DICT_STACK; 0: no stack was taken */
	uint8_t device; /* below BLOCK_DEVICES */
};

/*
 * Adds a block. Returns false if no slot is free. The address must be neither 0 nor in the table
 * already.
 */
bool block_table_add(const struct block_entry *e);

/* Removes a block. Returns false if it is not in the table. */
bool block_table_remove(unsigned device, uint64_t address);

/*
 * Calls `each` for every block of the device. A block that is added or removed meanwhile may be
 * included or not.
 */
void block_table_each(unsigned device, void (*each)(void *context, const struct block_entry *e),
		      void *context);

/* Empties all tables. Called in a forked child. */
void block_table_forget(void);

#endif
