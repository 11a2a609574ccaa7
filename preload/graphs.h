/*
 * CUDA graphs: records which call made each node, with its stack, and which executable graph was
 * made of which graph. The collector can then give each replayed kernel the call that was captured
 * (core/source/journal/graph_table.h). All of this is recorded whether or not steps are recorded,
 * because a graph is captured once, long before the steps that are recorded.
 *
 * No function here is on the hot path: a wrapper calls them for calls that make, change or destroy
 * graphs, and, while a stream captures, for calls that may be captured. They keep errno, and change
 * neither the runtime's last error nor a capture: the queries that they make are allowed during a
 * capture.
 */
#ifndef PRELOAD_GRAPHS_H
#define PRELOAD_GRAPHS_H

#include "preload/hook.h"
#include "preload/launch.h"
#include "preload/unwind.h"

/*
 * Called before each launch or copy while hook_captures() is true. Returns whether the call's
 * stream captures. If so, marks the call (REC_CALL_CAPTURED) and gives it a `seq`. The caller must
 * not count it as a launch, because it makes no GPU work.
 */
bool graphs_is_captured(struct rec_call *c);

/*
 * Called after each call that may have become a node, while hook_captures() is true. Records the
 * call if its stream captures, and marks it (REC_CALL_CAPTURED). `shape`: of a launch. `regs`: of
 * the wrapper's caller.
 */
void graphs_called(struct rec_call *c, const struct launch_shape *shape,
		   const struct unwind_regs *regs);

/* Called after a call that begins a capture. `is_into`: into a graph that exists already. */
void graphs_capture_begun(const struct rec_call *c, int status, bool is_into);

/* Called after a call that ends a capture. */
void graphs_capture_ended(const struct rec_call *c, int status);

/*
 * Records a change of a graph at time `ticks`. `graph`, `of`: see enum graph_event. A graph's end
 * must have a time before the call that destroys it, because another thread may get the same handle
 * before that call returns. Does nothing if `status`, the call's result, is an error.
 */
void graphs_changed(enum graph_event event, int status, uint64_t ticks, uint64_t graph,
		    uint64_t of);

/*
 * graphs_take_...: called before a call that adds a node or changes one. Stores the node's type in
 * c->detail, what it does in c->arg, and a kernel's shape in `*shape`. `params`: a struct
 * cudaGraphNodeParams; NULL is ignored.
 */
void graphs_take_node(struct rec_call *c, enum node_type type, uint64_t arg);
void graphs_take_kernel(struct rec_call *c, struct launch_shape *shape,
			const struct launch_shape *from);
void graphs_take_runtime(struct rec_call *c, struct launch_shape *shape, const void *params);
void graphs_take_driver(struct rec_call *c, struct launch_shape *shape, const void *params);

/*
 * Called after a call that added `node` to `graph`. `params`: of a node that may be conditional,
 * whose bodies the call has stored there; else NULL. Both APIs have the same layout of such a node.
 */
void graphs_added(const struct rec_call *c, const struct launch_shape *shape, uint64_t graph,
		  uint64_t node, const void *params, const struct unwind_regs *regs);

/* Called after a node got new parameters, in its graph (0) or in an executable graph. */
void graphs_node_changed(int status, uint64_t node, uint64_t exec);

/* Called after a stream was destroyed, or all streams of a context: they capture no more. */
void graphs_stream_gone(uint64_t stream);
void graphs_streams_gone(void);

/* Forgets the parent's captures in a forked child. */
void graphs_forget(void);

#endif
