/*
 * What a Kineto trace holds, in memory: the slices of CPU threads, the API calls and the GPU work.
 * Each event takes 40 to 130 bytes. Times are ns from an origin that lies before all events. Names
 * are interned. One thread per trace.
 */
#ifndef CORE_KINETO_TRACE_H
#define CORE_KINETO_TRACE_H

#include "core/model/model.h"
#include "core/model/tables.h"
#include "core/runtime/err.h"
#include "core/source/kineto/event.h"

#include <stdbool.h>
#include <stdint.h>

/* A span of a CPU thread around calls: an operator, an annotation, a Python function. */
struct trace_slice {
	uint64_t begin_ns, end_ns;
	uint32_t name, thread;		/* in `tables.names`; index in `threads` */
	uint32_t call_stack, call_from; /* as in struct event */
	uint8_t category;		/* enum event_category */
};

struct trace_call {
	uint64_t begin_ns, end_ns;
	uint32_t name, thread;
	uint32_t correlation; /* 0: none */
	uint32_t call_from;   /* as in struct event */
	uint32_t polls;	      /* as in struct model_call */
	uint32_t stack;	      /* set by nest_find(); 0: none */
	/* Of a call that records or awaits an event, as far as the trace says it: a number of the
	 * recording, and the stream of a call that records; 0: not known. */
	uint32_t event, stream;
	uint32_t number;  /* in the step that was built last, see build.c */
	uint32_t kernel;  /* what it launches, in `tables.names`; 0: not said */
	bool is_captured; /* it became a node of a CUDA graph, see captures.h */
};

/* A wait for an event: the correlations of the call that waits, and of the call that recorded the
 * event in a stream. */
struct trace_event_wait {
	uint32_t correlation, recorded, recorded_stream;
};

/* A block of GPU memory that PyTorch's allocator gave out or took back: "[memory]". */
struct trace_block {
	uint64_t ns, address, bytes;
	/* the device's totals afterwards; those of an old version of PyTorch are not known, and
	 * `allocated_bytes` is the sum of the blocks that the trace has */
	uint64_t allocated_bytes, reserved_bytes;
	uint32_t thread, stack; /* as in struct trace_call */
	uint8_t device;
	bool is_freed;
	bool is_early; /* made before the trace began (live_blocks.h) */
};

struct trace_span {
	uint64_t begin_ns, end_ns;
	uint32_t thread; /* index in `threads` */
};

/* An operator whose arithmetic may be known (core/model/operator_cost.h). */
struct trace_shape {
	struct trace_span span;
	uint32_t name, dims, types, values; /* in `tables.names`; as for operator_cost_find() */
};

/* An operator that calls a collective, or sends or receives: "record_param_comms". */
struct trace_comm {
	struct trace_span span;
	struct event_comm facts;
	/* by comms_number(): see struct model_library; 0: not known */
	uint64_t comm;
	uint32_t sequence;
};

/* A process group of "distributedInfo". */
struct trace_group {
	uint32_t name, ranks; /* in `tables.names`; `ranks` as in struct event_comm */
	int64_t n_ranks;      /* -1: not said */
};

struct trace_thread {
	int64_t pid, tid;
	char name[16];
};

/* A step that the trace marks: ProfilerStep#N. */
struct trace_step {
	uint64_t begin_ns, end_ns, number;
	uint32_t thread;
};

/* Facts from the file's head or tail, by the name of their key. */
struct trace_about {
	int64_t base_ns; /* baseTimeNanoseconds: Unix time of ts 0; 0: ts is Unix time itself */
	int64_t rank, n_ranks; /* -1: not said */
	bool has_stacks, has_memory, has_shapes;
};

struct trace {
	struct tables tables; /* names, devices, kernels and facts */
	struct trace_about about;
	VEC(struct trace_slice) slices;
	VEC(struct trace_call) calls;
	VEC(struct model_work) works; /* `call` is not set yet */
	VEC(struct trace_event_wait) event_waits;
	/* What a thread did between two calls, by nest_find(); `thread`: index in `threads`. Sorted
	 * by thread and time. */
	VEC(struct model_sample) samples;
	VEC(struct trace_step) steps;
	VEC(struct trace_block) blocks; /* sorted by time, after nest_find() */
	/* sorted by thread and time, after comms_number() and shapes_find() */
	VEC(struct trace_comm) comms;
	VEC(struct trace_shape) shapes;
	VEC(struct trace_group) groups;
	VEC(struct trace_thread) threads;
	uint64_t origin_ns;	   /* Unix time of time 0, where `about` tells it */
	uint64_t begin_ns, end_ns; /* of all events */
	int64_t pid;		   /* of the process with most calls */
	struct trace_counts {
		uint64_t events, calls, launches, works[WORK_KINDS];
		/* events left out: without a name, time or thread; with a negative duration; of a
		 * device that is not a GPU of NVIDIA or AMD */
		uint64_t malformed, negative, other_device;
	} counts;
	/* Why the file could not be read to its end; "": it was. What was read before counts. */
	char damage[240];
};

/* Reads a trace. Returns 0, or -errno with one line in `e` if the file is no trace. Free `*to` with
 * trace_free(). */
int trace_load(struct trace **to, const char *path, struct err *e);
void trace_free(struct trace *t);
/* Frees the events. Names, threads and counts stay. */
void trace_free_events(struct trace *t);

/*
 * Returns whether the file may be a trace: it has the suffix .json or .json.gz, or begins as JSON
 * or gzip do. Reads a few bytes.
 */
bool trace_is_one(const char *path);

#endif
