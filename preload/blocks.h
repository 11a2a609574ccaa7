/*
 * Blocks of PyTorch's caching allocator. libc10 reports each one to PyTorch's own profiler through
 * an exported function, whether that profiler runs or not; a function of the same name in this
 * library is called first. While steps are recorded, every report goes into the journal, allocated
 * blocks with the stack that allocated them. At other times only a table of the live blocks is
 * kept; it is written to the journal when recording begins.
 */
#ifndef PRELOAD_BLOCKS_H
#define PRELOAD_BLOCKS_H

#include "core/runtime/config.h"

#include <stdbool.h>
#include <stdint.h>

/* Bits of hook_switch.blocks. */
enum blocks_mode {
	BLOCKS_KEPT = 1,     /* kept in the table */
	BLOCKS_RECORDED = 2, /* written to the journal as well */
	BLOCKS_STACKED = 4,  /* new blocks take a stack */
};

/* The functions through which reports arrive, with the real function of each. */
enum { BLOCKS_ROWS = 2 };
struct blocks_row {
	void *wrapper;
	const _Atomic(void *) *real;
};
extern const struct blocks_row blocks_rows[BLOCKS_ROWS];

/* Called when the library sets up, after stack_configure. `may_record`: steps may be recorded. */
void blocks_configure(const struct config *config, bool may_record);

/*
 * Recording of steps begins or ends. Called within a hooked call, by the thread that crosses the
 * boundary.
 */
void blocks_record(bool recorded);

/* A step begins: writes the memory held now. Called as blocks_record() is. */
void blocks_step(uint64_t ticks);

/* Called when the process ends. */
void blocks_finish(void);

/* Called in a forked child. */
void blocks_forget(void);

#endif
