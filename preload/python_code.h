/*
 * Code objects in the journal's dictionary: each is copied at its first sight, its line table with it, so that nobody needs Python
 * afterwards. Shared by the python*.c files only.
 */
#ifndef PRELOAD_PYTHON_CODE_H
#define PRELOAD_PYTHON_CODE_H

#include "preload/python_layout.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The table of code objects is one for all threads. False: it cannot be had now. Cold. */
bool python_code_lock(void);
bool python_code_try_lock(void);
void python_code_unlock(void);

/* The id of a code object that is alive, 0: no room, or its texts cannot be read. With the lock. */
uint32_t python_code_id(const struct python_api *api, const struct python_layout *l, uint64_t code);

/* Looks whether a code object that is alive is the one that has an id under its address. If not, the epoch may move on. With the
 * lock. */
void python_code_check(const struct python_api *api, const struct python_layout *l, uint64_t code);

/* Moves on whenever an address stands for another code object and its identity words need not show it: part of every hash, so
 * that no stack is taken for one from before. Any thread. */
extern _Atomic uint64_t python_code_epoch_now;

static inline uint64_t python_code_epoch(void)
{
	return atomic_load_explicit(&python_code_epoch_now, memory_order_relaxed);
}

/* In a forked child: nothing is in its journal. */
void python_code_forget(void);

#endif
