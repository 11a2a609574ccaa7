/*
 * Field numbers of Perfetto's trace protobufs (protos/perfetto/trace/ at v58), as far as they are written here, and the
 * numbers that every sequence of ours gives to its fixed words.
 */
#ifndef EXPORT_PERFETTO_SCHEMA_H
#define EXPORT_PERFETTO_SCHEMA_H

enum {
	TRACE_PACKET = 1,

	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TIMESTAMP_CLOCK_ID = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,

	SEQUENCE_STATE_CLEARED = 1,
	SEQUENCE_NEEDS_STATE = 2,

	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	CLOCK_IS_INCREMENTAL = 3,
	CLOCK_REALTIME_ID = 1,
	CLOCK_MONOTONIC_ID = 3,
	CLOCK_BOOTTIME_ID = 6,
	CLOCK_DELTA_ID = 64, /* 64 to 127 are a sequence's own */

	DEFAULTS_TRACK_EVENT = 11,
	DEFAULTS_TIMESTAMP_CLOCK_ID = 58,

	INTERNED_CATEGORIES = 1,
	INTERNED_EVENT_NAMES = 2,
	INTERNED_ARG_NAMES = 3,
	INTERNED_ARG_STRINGS = 29,
	INTERNED_IID = 1,
	INTERNED_TEXT = 2,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_CHILD_ORDERING = 11,
	TRACK_ORDER_RANK = 12,
	TRACK_DESCRIPTION = 14,
	TRACK_MERGE = 15,
	ORDER_EXPLICIT = 3,
	MERGE_NONE = 2,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,
	COUNTER_UNIT_COUNT = 2,
	COUNTER_UNIT_BYTES = 3,

	EVENT_CATEGORY_IIDS = 3,
	EVENT_ARGS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_FLOW_IDS = 47,
	EVENT_FLOW_ENDS = 48,
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,

	ARG_NAME_IID = 1,
	ARG_UINT = 3,
	ARG_DOUBLE = 5,
	ARG_STRING = 6,
	ARG_POINTER = 7,
	ARG_ARRAY = 12,
	ARG_STRING_IID = 17,
};

/* Names of arguments; SQL sees them as debug.<name>. */
#define PERFETTO_ARGS(X)                          \
	X(LINE, "line")                           \
	X(FUNCTION, "function")                   \
	X(OPERATOR, "operator")                   \
	X(STACK, "stack")                         \
	X(CAUSE, "cause")                         \
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
	X(GPU_US, "gpu_us")

enum perfetto_arg {
	PERFETTO_ARG_NONE,
#define X(id, name) PERFETTO_ARG_##id,
	PERFETTO_ARGS(X)
#undef X
};

/* Categories beyond those of calls. */
#define PERFETTO_CATEGORIES(X)      \
	X(KERNEL, "kernel")         \
	X(GPU_MEMCPY, "gpu_memcpy") \
	X(GPU_MEMSET, "gpu_memset") \
	X(GPU_WAIT, "gpu_wait")     \
	X(OVERHEAD, "overhead")     \
	X(STEP, "step")             \
	X(IDLE, "idle")             \
	X(PHASE, "phase")           \
	X(MODULE, "module")         \
	X(RANGE, "nvtx")            \
	X(OPERATOR, "operator")     \
	X(LIBRARY, "library")       \
	X(NOTE, "note")

#endif
