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

/* Empties it, and all notes. */
void block_table_forget(void);

/* ---- A device's last reports, before they are in its table ---- */

/*
 * One after another they take a line of the cache for four, where each has a place of its own in a table: amid a program that uses the caches
 * a report so takes some 10 ns, and 40 by the table (test/bench/block_bench.sh). Written by who reports; any thread may read.
 */
struct block_note {
	_Atomic uint64_t address;
	_Atomic int64_t bytes; /* below 0: the block was given back */
};
enum { BLOCK_NOTES = 256 }; /* the reports of one step of ten layers with Adam */

/* Room for as many; NULL: there is none to be had. */
struct block_note *block_notes_of(unsigned device);

#endif
