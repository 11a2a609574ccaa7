/* One event of a Kineto trace, as far as profrun uses it (docs/foreign-traces.md). */
#ifndef CORE_KINETO_EVENT_H
#define CORE_KINETO_EVENT_H

#include "core/source/kineto/scan.h"
#include "core/util/strtab.h"

#include <stdbool.h>
#include <stdint.h>

/* Categories, by their present and their former names. The comparison ignores case. */
/*        id           names of the category, separated by blanks */
#define EVENT_CATEGORIES(X)                            \
	X(OPERATOR, "cpu_op operator")                 \
	X(ANNOTATION, "user_annotation")               \
	X(PYTHON, "python_function python")            \
	X(RUNTIME, "cuda_runtime runtime hip_runtime") \
	X(DRIVER, "cuda_driver driver")                \
	X(KERNEL, "kernel")                            \
	X(MEMCPY, "gpu_memcpy memcpy")                 \
	X(MEMSET, "gpu_memset memset")                 \
	X(SYNC, "cuda_sync")                           \
	X(OTHER_DEVICE, "mtia_runtime xpu_runtime privateuse1_runtime hpu_op")

enum event_category {
	EVENT_OTHER,
#define X(id, names) EVENT_##id,
	EVENT_CATEGORIES(X)
#undef X
		EVENT_CATEGORIES_N
};

enum { EVENT_NONE = INT64_MIN }; /* a number that the event does not have */

/* Texts are ids in `names` of the tables; 0: none. Times are as in the trace, in ns. */
struct event {
	char phase;	  /* 'X', 'i', 'M', 's', ...; 0: none */
	uint8_t category; /* enum event_category */
	bool has_begin, has_duration;
	int64_t begin_ns, duration_ns;
	uint32_t name;
	/* `pid`, `tid`: EVENT_NONE if they are no numbers, such as "Spans" */
	int64_t pid, tid;
	/* from `args` */
	int64_t correlation, stream, device, context, bytes, graph, node, peer, polls;
	/* of a wait for an event: the correlation of the call that recorded it, and its stream */
	int64_t recorded, recorded_stream;
	/* of "[memory]" */
	int64_t address, block_bytes, device_type, device_id, allocated, reserved;
	int64_t grid[3], block[3], registers, shared_bytes;
	uint32_t label;	     /* `name` of a metadata event */
	uint32_t kernel;     /* "kernel": what a call launches */
	uint32_t call_stack; /* "Call stack": frames separated by ';', innermost first */
	uint32_t call_from;  /* "CallFrom": FILE:LINE of the call */
	/* "Input Dims", "Input type", "Concrete Inputs" without blanks, as operator_cost.h takes
	 * them */
	uint32_t dims, types, values;
	struct event_comm {
		/* "Collective name", "dtype", "Process Group Name" or an older version's "Process
		 * Group ID", and "Process Group Ranks" without blanks, such as "[0,1]" */
		uint32_t collective, type, group, ranks;
		int64_t in, out; /* elements of the messages: "In msg nelems", "Out msg nelems" */
		int64_t n_ranks, rank, source, target, sequence; /* "Group size", ..., "Seq" */
	} comm;
};

/*
 * Reads one event. Returns false if the file ended in it, or is not JSON; what was read is then not
 * an event. An event of an unexpected form, such as one without a name, is returned as far as it
 * could be read.
 */
bool event_read(struct event *e, struct scan *s, struct strtab *names);

/* Reads a list, or a text that has the form of one, as a text without blanks, such as
 * "[[2,3],[]]". Returns its id in `names`. A long list is cut. */
uint32_t event_read_list(struct scan *s, struct strtab *names);

#endif
