/* The blocks of PyTorch's allocator in the steps of a trace: "[memory]" events. */
#ifndef CORE_KINETO_LIVE_BLOCKS_H
#define CORE_KINETO_LIVE_BLOCKS_H

#include "core/model/memory.h"
#include "core/source/kineto/trace.h"
#include "core/util/map.h"

/* All zeros is a valid start. */
struct live_blocks {
	size_t next;	 /* the first block in t->blocks that is not passed yet */
	uint64_t end_ns; /* of the step that was built last */
	uint64_t window; /* steps without a time between them share one */
	struct map live; /* address and device -> index in t->blocks */
};

/*
 * Completes the blocks of a trace, which must be sorted by time: adds those that were live when it
 * began, before all others, and sums up where the trace has no totals. A block that is freed was
 * live; of the others only the sum is known, which becomes a block of its own. Call it once.
 */
void live_blocks_complete(struct trace *t);

/* Fills the totals of each device that the trace has blocks of. */
void live_blocks_total(const struct trace *t, struct allocator *to);

/* Adds to `m`, whose times are set, the blocks of the step and those that are live at its begin.
 * Steps must be built in order. `thread_of`: returns a thread's index in m->threads. */
void live_blocks_build(struct live_blocks *b, const struct trace *t, struct model_step *m,
		       uint32_t (*thread_of)(void *context, uint32_t thread), void *context);
void live_blocks_free(struct live_blocks *b);

#endif
