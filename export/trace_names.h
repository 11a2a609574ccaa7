/* Names of categories and arguments in traces. They are the same in every format. Perfetto's SQL
 * calls an argument debug.<name>. */
#ifndef EXPORT_TRACE_NAMES_H
#define EXPORT_TRACE_NAMES_H

#include "core/runtime/kinds.h"

#define TRACE_ARGS(X)                             \
	X(LINE, "line")                           \
	X(FUNCTION, "function")                   \
	X(OPERATOR, "operator")                   \
	X(STACK, "stack")                         \
	X(CAUSE, "cause")                         \
	X(AFTER, "after")                         \
	X(API, "api")                             \
	X(STREAM, "stream")                       \
	X(DEVICE, "device")                       \
	X(CONTEXT, "context")                     \
	X(CORRELATION, "correlation")             \
	X(STATUS, "status")                       \
	X(KERNEL, "kernel")                       \
	X(GRID, "grid")                           \
	X(BLOCK, "block")                         \
	X(SHARED, "shared_bytes")                 \
	X(STATIC_SHARED, "static_shared_bytes")   \
	X(DYNAMIC_SHARED, "dynamic_shared_bytes") \
	X(REGISTERS, "registers_per_thread")      \
	X(LOCAL, "local_bytes_per_thread")        \
	X(BYTES, "bytes")                         \
	X(GB_PER_S, "gb_per_s")                   \
	X(FROM, "from")                           \
	X(TO, "to")                               \
	X(KIND, "kind")                           \
	X(PEER, "peer_device")                    \
	X(GRAPH, "graph")                         \
	X(GRAPH_NODE, "graph_node")               \
	X(HANDLE, "handle")                       \
	X(ADDRESS, "address")                     \
	X(VALUE, "value")                         \
	X(EVENT, "event")                         \
	X(CAPTURED, "captured_into_graph")        \
	X(CAPTURED_AT, "captured_at")             \
	X(MODULE, "module")                       \
	X(POLLS, "said_not_ready")                \
	X(UNPAIRED, "unpaired")                   \
	X(INCOMPLETE, "end_not_known")            \
	X(NUMBER, "number")                       \
	X(DETECTOR, "detector")                   \
	X(ACTION, "action")                       \
	X(CALLS, "calls")                         \
	X(WORKS, "gpu_work")                      \
	X(CUT, "process_was_killed")              \
	X(LOST, "end_never_came")                 \
	X(DOMAIN, "domain")                       \
	X(BEGINS_BEFORE, "begins_before_step")    \
	X(ENDS_AFTER, "ends_after_step")          \
	X(M, "m")                                 \
	X(N, "n")                                 \
	X(K, "k")                                 \
	X(BATCH, "batch")                         \
	X(TYPE, "type")                           \
	X(FLOPS, "flops")                         \
	X(TFLOPS, "tflops")                       \
	X(COUNT, "count")                         \
	X(BUS_GB_PER_S, "bus_gb_per_s")           \
	X(COMM, "communicator")                   \
	X(RANK, "rank")                           \
	X(RANKS, "ranks")                         \
	X(ROOT, "root")                           \
	X(PEER_RANK, "peer_rank")                 \
	X(SEQUENCE, "collective")                 \
	X(GPU_US, "gpu_us")                       \
	X(SAMPLES, "samples")

enum trace_arg_name {
	TRACE_ARG_NONE,
#define X(id, name) TRACE_ARG_##id,
	TRACE_ARGS(X)
#undef X
		TRACE_ARG_NAMES
};

/* Categories of slices. The enum begins with the categories of calls (RECORD_CATEGORIES). */
#define TRACE_CATEGORIES(X)          \
	X(KERNEL, "kernel")          \
	X(GPU_MEMCPY, "gpu_memcpy")  \
	X(GPU_MEMSET, "gpu_memset")  \
	X(GPU_WAIT, "gpu_wait")      \
	X(OVERHEAD, "overhead")      \
	X(STEP, "step")              \
	X(CRITICAL, "critical_path") \
	X(IDLE, "idle")              \
	X(PHASE, "phase")            \
	X(MODULE, "module")          \
	X(SAMPLE, "sample")          \
	X(RANGE, "nvtx")             \
	X(OPERATOR, "operator")      \
	X(LIBRARY, "library")        \
	X(NOTE, "note")

enum trace_category {
	TRACE_CATEGORY_OTHER = CAT_COUNT, /* a call without a known category */
#define X(id, name) TRACE_CATEGORY_##id,
	TRACE_CATEGORIES(X)
#undef X
		TRACE_CATEGORY_NAMES
};

extern const char *const trace_arg_names[TRACE_ARG_NAMES];
extern const char *const trace_category_names[TRACE_CATEGORY_NAMES];

#endif
