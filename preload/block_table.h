/*
 * The live blocks of a framework's allocator: address -> size, stack, time. Takes no lock: one
 * thread at a time adds and removes blocks of a device (PyTorch reports inside the device's
 * allocator lock), and any thread may iterate.
 *
 * A block lies within a few slots of its hash, in the first of its device's tables with a free slot
 * there. Larger tables are mapped on demand. A look-up therefore needs no never-used slot to stop
 * at, and a freed slot needs no tombstone.
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

/* Returns false if no slot is free. `address` must be neither 0 nor in the table already. */
bool block_table_add(const struct block_entry *e);

/* Returns false if the block is not in the table. */
bool block_table_remove(unsigned device, uint64_t address);

/*
 * Calls `each` for every block of the device. Blocks that are added or removed meanwhile may be
 * reported or not.
 */
void block_table_each(unsigned device, void (*each)(void *context, const struct block_entry *e),
		      void *context);

/* Empties all tables. */
void block_table_forget(void);

#endif
