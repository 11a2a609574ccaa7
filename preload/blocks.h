/*
 * Records the blocks of PyTorch's caching allocator. libc10 reports each allocation and free to
 * PyTorch's own profiler by calling an exported function, even if that profiler does not run. This
 * library exports a function of the same name, which is called instead and passes the report on.
 * While steps are recorded, every report is written to the journal, and an allocation has a stack.
 * At other times the reports only update a table of the live blocks. The table is written to the
 * journal when recording begins.
 */
#ifndef PRELOAD_BLOCKS_H
#define PRELOAD_BLOCKS_H

#include "core/runtime/config.h"

#include <stdbool.h>
#include <stdint.h>

/* Bits of hook_switch.blocks. */
enum blocks_mode {
	BLOCKS_KEPT = 1,     /* reports update the table of live blocks */
	BLOCKS_RECORDED = 2, /* reports are written to the journal as well */
	BLOCKS_STACKED = 4,  /* allocations take a stack */
};

/*
 * The exported functions that receive reports. `real` points to where the address of PyTorch's own
 * function is stored; it is NULL until that function was looked up.
 */
enum { BLOCKS_ROWS = 2 };
struct blocks_row {
	void *wrapper;
	const _Atomic(void *) *real;
};
extern const struct blocks_row blocks_rows[BLOCKS_ROWS];

/*
 * Called when the library sets up, after stack_configure(). `may_record`: whether any step may be
 * recorded; if not, reports are ignored.
 */
void blocks_configure(const struct config *config, bool may_record);

/*
 * Starts or ends the recording of blocks together with the recording of steps. Called within a
 * hooked call, by the thread that crosses the step boundary.
 */
void blocks_record(bool recorded);

/*
 * Writes the memory that is allocated when a step begins, if it has changed. `ticks`: when the step
 * begins. Called within a hooked call, by the thread that crosses the step boundary.
 */
void blocks_step(uint64_t ticks);

/* Writes the memory that is allocated at the end of the process. Later reports are ignored. */
void blocks_finish(void);

/* Resets everything. Called in a forked child. */
void blocks_forget(void);

#endif
