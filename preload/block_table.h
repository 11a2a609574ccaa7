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

/* Calls for all of the device's that are there while it goes through: what comes or goes meanwhile may be seen or not. */
void block_table_each(unsigned device, void (*each)(void *context, const struct block_entry *e),
		      void *context);

/* Empties it. */
void block_table_forget(void);

#endif
