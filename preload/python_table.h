/*
 * A hash table from a 64-bit key to three numbers. It maps its own memory, because hooks may run
 * inside an allocator. Used only by the python*.c files.
 */
#ifndef PRELOAD_PYTHON_TABLE_H
#define PRELOAD_PYTHON_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct python_entry {
	uint64_t key; /* 0: empty */
	uint64_t value[3];
};

/* A hash table; all zeros is an empty one. Not thread-safe. */
struct python_table {
	struct python_entry *slots;
	/* n_slots is 0 or a power of two; at most half of the slots are used */
	uint64_t n_slots, n_used;
};

/* Returns the entry of `key`, which must not be 0. Adds an entry with values 0 if the table has
 * none. Returns NULL if there is no memory. */
struct python_entry *python_table_at(struct python_table *t, uint64_t key);

/* Returns the entry of `key`, or NULL if the table has none. */
struct python_entry *python_table_find(const struct python_table *t, uint64_t key);

void python_table_drop(struct python_table *t);

#endif
