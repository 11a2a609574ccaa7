/*
 * Code objects in the journal's dictionary. Each is copied when first seen, with its line table, so
 * that Python is not needed afterwards. Used only by the python*.c files.
 */
#ifndef PRELOAD_PYTHON_CODE_H
#define PRELOAD_PYTHON_CODE_H

#include "preload/python_layout.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The lock of the table of code objects, which all threads share. False: it is not available now.
 * Cold. */
bool python_code_lock(void);
bool python_code_try_lock(void);
void python_code_unlock(void);

/* Returns the id of a live code object, 0: no room, or its texts cannot be read. Requires the
 * lock. */
uint32_t python_code_id(const struct python_api *api, const struct python_layout *l, uint64_t code);

/* Checks whether a live code object is the one that got an id under its address. If not, the epoch
 * may advance. Requires the lock. */
void python_code_check(const struct python_api *api, const struct python_layout *l, uint64_t code);

/* Advances whenever an address holds another code object and its identity words may not show it. It
 * is part of every hash, so that no stack is mistaken for an earlier one. Any thread. */
extern _Atomic uint64_t python_code_epoch_now;

static inline uint64_t python_code_epoch(void)
{
	return atomic_load_explicit(&python_code_epoch_now, memory_order_relaxed);
}

/* In a forked child: its journal is empty. */
void python_code_forget(void);

#endif
