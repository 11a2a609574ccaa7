/*
 * A hash table of numbers by 64-bit key, in its own mapped memory, because hooks may run inside an
 * allocator. Used only by the python*.c files.
 */
#ifndef PRELOAD_PYTHON_TABLE_H
#define PRELOAD_PYTHON_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct python_entry {
	uint64_t key; /* 0: empty */
	uint64_t value[3];
};

/* All zeros is an empty table. Not thread-safe. */
struct python_table {
	struct python_entry *slots;
	uint64_t n_slots, n_used; /* n_slots is a power of two, at most half used */
};

/* Returns the entry of `key` (not 0), a new one of zeros if there was none; NULL if there is no
 * memory. */
struct python_entry *python_table_at(struct python_table *t, uint64_t key);

/* Returns the entry of `key`, or NULL. */
struct python_entry *python_table_find(const struct python_table *t, uint64_t key);

void python_table_drop(struct python_table *t);

#endif
