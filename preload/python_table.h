/* Numbers by 64-bit key, in memory of our own: hooks may run inside an allocator. Shared by the python*.c files only. */
#ifndef PRELOAD_PYTHON_TABLE_H
#define PRELOAD_PYTHON_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct python_entry {
	uint64_t key; /* 0: empty */
	uint64_t value[3];
};

/* All zero is an empty table. One owner. */
struct python_table {
	struct python_entry *slots;
	uint64_t n_slots, n_used; /* n_slots is a power of two, at most half used */
};

/* The entry of `key` (not 0), a fresh one of zeros if there was none; NULL where there is no memory. */
struct python_entry *python_table_at(struct python_table *t, uint64_t key);

/* As above, but NULL if there was none. */
struct python_entry *python_table_find(const struct python_table *t, uint64_t key);

void python_table_drop(struct python_table *t);

#endif
