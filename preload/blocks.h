/*
 * Blocks of PyTorch's caching allocator. libc10 reports each one to PyTorch's own profiler through an exported function, whether that
 * profiler is there or not; ours of the same name stands before it. While steps are recorded every report goes into the journal,
 * blocks with the stack that made them; at any other time a table of the live ones is kept, and written where recording begins.
 */
#ifndef PRELOAD_BLOCKS_H
#define PRELOAD_BLOCKS_H

#include "core/runtime/config.h"

#include <stdbool.h>
#include <stdint.h>

/* Bits of hook_switch.blocks. */
enum blocks_mode {
	BLOCKS_KEPT = 1,     /* in the table */
	BLOCKS_RECORDED = 2, /* in the journal too */
	BLOCKS_STACKED = 4,  /* new ones take a stack */
};

/* The functions that reports come by. */
enum { BLOCKS_ROWS = 2 };
struct blocks_row {
	void *wrapper;
	const _Atomic(void *) *real;
};
extern const struct blocks_row blocks_rows[BLOCKS_ROWS];

/* At arming, after stack_configure. `may_record`: steps may be recorded some time. */
void blocks_configure(const struct config *config, bool may_record);

/* Recorded steps begin or end. By the thread that crosses the boundary, within a hooked call. */
void blocks_record(bool recorded);

/* A step begins: what is held now. Likewise. */
void blocks_step(uint64_t ticks);

/* The process ends. */
void blocks_finish(void);

/* In a forked child. */
void blocks_forget(void);

#endif
