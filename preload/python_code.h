/*
 * Writes Python's code objects to the journal's dictionary. Each is copied when it is first seen,
 * with its line table and its bytecode, so that the reader does not need the Python process. Used
 * only by the python*.c files.
 */
#ifndef PRELOAD_PYTHON_CODE_H
#define PRELOAD_PYTHON_CODE_H

#include "preload/python_layout.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The lock of the table of code objects, which all threads share. python_code_lock() waits for half
 * a second or more, python_code_try_lock() does not wait. Both return false if they could not get
 * the lock. Not on the hot path. */
bool python_code_lock(void);
bool python_code_try_lock(void);
void python_code_unlock(void);

/* Returns the id of a live code object. Returns 0 if there is no room or its texts cannot be read.
 * Requires the lock. */
uint32_t python_code_id(const struct python_api *api, const struct python_layout *l, uint64_t code);

/* Bytecode longer than this is not copied. The longest of 177,000 functions of the standard library
 * and of the packages around PyTorch has 61,560 bytes. */
enum { BYTECODE_MOST = 1 << 16 };

/* Addresses and sizes of a code object's bytecode and of its exception table (co_exceptiontable,
 * since 3.11), which lists where exceptions lead. 0 bytes: none. */
struct python_bytecode {
	uint64_t at, bytes;
	uint64_t exceptions, exceptions_bytes;
};

/* A longer exception table is not copied, because dict_code.exceptions_bytes has 16 bits. */
enum { EXCEPTIONS_MOST = (1 << 16) - 1 };

/* Returns where a code object has its bytecode. Since 3.11 other threads may specialize it at any
 * time: a copy then has the old or the new form of each instruction. */
struct python_bytecode python_bytecode_of(const struct python_api *api,
					  const struct python_layout *l, uint64_t code);

/* Returns the id of the code object whose copy is at `copy`. The copy refers to copies of its texts
 * and line table; `bytecode` is the copy of its bytecode. Like python_code_id(), but does not
 * remember the address. Requires the lock. */
uint32_t python_code_id_of_copy(const struct python_api *api, const struct python_layout *l,
				uint64_t copy, struct python_bytecode bytecode);

/* Checks whether the code object at `code` is still the one that got the id of this address. If
 * not, the epoch may advance. Requires the lock. */
void python_code_check(const struct python_api *api, const struct python_layout *l, uint64_t code);

/* Counts how often an address got another code object that its identity words may not distinguish
 * from the first. The epoch is part of every chain's hash, so that no stack is mistaken for an
 * earlier one. Any thread. */
extern _Atomic uint64_t python_code_epoch_now;

static inline uint64_t python_code_epoch(void)
{
	return atomic_load_explicit(&python_code_epoch_now, memory_order_relaxed);
}

/* In a forked child: forgets all ids, because the child's journal is empty. */
void python_code_forget(void);

#endif
