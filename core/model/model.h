/*
 * One step of one process, ready to be shown or analysed: calls by thread, GPU work by stream, counters, notes, all in
 * nanoseconds of CLOCK_MONOTONIC. Knows neither the journal's layout nor any output format. Read-only once built.
 */
#ifndef CORE_MODEL_H
#define CORE_MODEL_H

#include "core/model/tables.h"
#include "core/runtime/kinds.h"
#include "core/symbols/frames.h"
#include "core/util/bisect.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define MODEL_NO_CALL	UINT32_MAX
#define MODEL_NO_THREAD UINT32_MAX

struct model_call {
	uint64_t begin_ns, end_ns;
	uint64_t stream;
	uint64_t handle; /* address, event, graph exec: what the category's `arg` is */
	uint64_t bytes;
	uint32_t name;		     /* in `names` */
	uint32_t launch;	     /* index + 1 into `launches`, 0: none */
	uint32_t correlation;	     /* CUPTI's, 0: unknown */
	uint32_t stack;		     /* DICT_STACK: see frames.h; 0: none */
	uint32_t first_link, n_work; /* links[first_link...] number the GPU work that it caused */
	uint32_t
		polls; /* of a loop of queries, whose last this is: how many said "not ready"; it begins where the loop did */
	uint16_t status;
	uint8_t category, space, entry_point, device, copy;
	bool is_captured; /* went into a graph instead of onto the device */
};

enum host_memory { HOST_PAGEABLE = 1, HOST_PINNED = 2 }; /* of CUpti_ActivityMemoryKind */

struct model_work {
	uint64_t begin_ns, end_ns;
	uint64_t bytes, node;
	uint32_t name;
	uint32_t call; /* index into calls, MODEL_NO_CALL: nothing says what caused it */
	uint32_t correlation, context, stream, graph, peer;
	uint32_t kernel; /* index + 1 into `kernels`, 0: none */
	uint32_t grid[3];
	uint32_t value; /* memset's byte pattern, GPU_SYNC's event */
	uint32_t lane;	/* within the track: work of one lane never overlaps */
	uint8_t kind;	/* enum record_kind: KERNEL, MEMCPY, MEMSET, GPU_SYNC */
	uint8_t device, flags;
	uint8_t source, target; /* CUpti_ActivityMemoryKind */
};

struct model_thread {
	uint32_t tid;
	char name[16];
	size_t first, n; /* in calls, by begin_ns; n is 0 where it has ranges alone */
};

/* `is_wait`: what synchronisations waited for, apart from the work itself. */
struct model_stream {
	uint32_t device, context, stream;
	bool is_wait;
	uint32_t n_lanes;
	size_t first, n; /* in works, by begin_ns */
};

enum model_range_kind {
	MODEL_RANGE_NESTED,  /* of one thread; those of a domain nest */
	MODEL_RANGE_MARK,    /* a moment */
	MODEL_RANGE_STARTED, /* of the process: may end on another thread, overlaps others at will */
};

/* A range that the application marked (NVTX), as much of it as lies in the step. */
struct model_range {
	uint64_t begin_ns, end_ns;
	uint64_t id;
	uint32_t name, domain; /* in `names`; domain 0: the default one */
	uint32_t color;	       /* ARGB, 0: none */
	uint32_t thread;       /* that began it: index into threads, or MODEL_NO_THREAD */
	uint8_t kind;
	bool begins_before, ends_after; /* it was cut at the step's edge */
};

/* A call of a library (NCCL, cuBLAS, ...) that ended in the step. */
struct model_library {
	uint64_t begin_ns, end_ns;
	uint64_t gpu_begin_ns,
		gpu_end_ns; /* of what it launched, or of its share in what its group launched; 0: nothing */
	uint64_t gpu_ns;      /* what that took; of a group's members each has its share by bytes */
	uint64_t m, n, k;     /* FACTS_GEMM */
	uint64_t count, comm; /* FACTS_COLLECTIVE, FACTS_MESSAGE: as in rec_library */
	uint32_t batch, sequence;
	int32_t peer;
	uint32_t name;		      /* in `names` */
	uint32_t thread;	      /* index into threads */
	uint32_t first_call, n_calls; /* those that it made, or its group's; index into calls */
	uint32_t work; /* the one that took longest; index into works, MODEL_NO_WORK: none */
	uint16_t status, rank, n_ranks;
	uint8_t family, facts, type, compute;
	bool begins_before; /* its begin was cut at the step's edge */
	bool is_grouped;    /* its group launched for it */
};

#define MODEL_NO_WORK UINT32_MAX

enum model_unit { UNIT_COUNT, UNIT_BYTES };

struct model_point {
	uint64_t ns;
	int64_t value;
};

struct model_counter {
	const char *name; /* static text */
	enum model_unit unit;
	uint32_t device; /* DEVICE_UNKNOWN: of the process */
	VEC(struct model_point) points;
};

/* A block of a framework's allocator: made, freed, not to be had, or there at the step's begin. */
struct model_block {
	uint64_t ns; /* LIVE: about when it was made */
	uint64_t address, bytes;
	uint64_t allocated_bytes, reserved_bytes; /* on the device, afterwards; not of LIVE */
	uint32_t stack;
	uint32_t thread; /* in threads, or MODEL_NO_THREAD */
	uint8_t event;	 /* enum block_event */
	uint8_t device;
};

/* Device memory that the driver had given out at the step's begin. Only there where blocks are. */
struct model_segment {
	uint64_t address, bytes;
	uint32_t stack, device;
};

struct model_overhead {
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	uint16_t what;
};

/* Work of calls before the step that kept a device busy in it. Not shown: it belongs to the step that launched it. */
struct model_earlier {
	uint64_t begin_ns, end_ns;
	uint32_t device;
};

struct model_note {
	uint64_t ns;
	char text[240];
};

struct model_clock {
	uint64_t monotonic_ns, realtime_ns, boottime_ns;
};

/* A recorded step that is none of the loop's, or holds more than that: what came before the first, or behind the last one's end. */
enum model_part { MODEL_WHOLE, MODEL_SET_UP, MODEL_REST };

struct model_step {
	const struct tables *tables; /* names, launches, kernels, devices */
	struct frames *frames;	     /* what the calls' stacks mean; NULL: they are not looked up */
	uint32_t pid;
	uint64_t process_start;
	const char *command; /* "" if unknown */
	struct model_clock clock;
	uint64_t number;
	uint8_t action;
	const char *detector; /* how steps are told apart: step_mode_name() */
	enum model_part part;
	bool is_cut;	   /* the process died within it, or: */
	bool is_lost;	   /* its anchor stopped coming, so that its end is not known */
	bool has_no_end;   /* either, or the last one: no other began behind it */
	bool is_whole_run; /* no steps were told apart: everything that was recorded */
	uint64_t begin_ns, end_ns;
	VEC(struct model_thread) threads;
	VEC(struct model_call) calls;
	VEC(struct model_stream) streams;
	VEC(struct model_work) works;
	VEC(uint32_t) links;
	VEC(struct model_range)
	ranges; /* by kind, then (started ones not) by thread, then by time, outer ones first */
	VEC(struct model_library) libraries; /* by thread, then by time, outer ones first */
	VEC(struct model_counter) counters;
	VEC(struct model_block) blocks; /* n_live_blocks that are there at its begin, then by ns */
	size_t n_live_blocks;
	uint64_t
		block_window; /* steps of one window follow each other: what is live is known all through it */
	VEC(struct model_segment) segments;
	VEC(struct model_overhead) overheads;
	VEC(struct model_earlier) earlier;
	VEC(struct model_note) notes;
	uint64_t n_calls_without_work, n_works_without_call;
};

void model_free(struct model_step *m);

/* What it holds in memory. */
size_t model_bytes(const struct model_step *m);

/* The counter of that name, made if it is not there: of bytes. */
struct model_counter *model_counter_of(struct model_step *m, const char *name, uint32_t device);

/* Sorts works into streams and lanes, links calls to them. */
void model_finish(struct model_step *m);
/* Adds the counter that follows from both; 16 bytes a GPU record. */
void model_count_in_flight(struct model_step *m);

/* Of the thread's calls the number of the first one that begins at `ns` or later; t->n: none does. */
static inline size_t model_first_call(const struct model_step *m, const struct model_thread *t,
				      uint64_t ns)
{
	return bisect(t->n, i, m->calls.at[t->first + i].begin_ns < ns);
}

/* "Memcpy HtoD (Pinned -> Device)"; `kind` as CUPTI's CUpti_ActivityMemcpyKind. */
void model_copy_name(char *to, size_t bytes, uint32_t kind, uint32_t source, uint32_t target);
/* "Memset (Device)", "Memset" where CUPTI does not know of what memory. */
void model_memset_name(char *to, size_t bytes, uint32_t memory);
/* "record", ... of an enum sched_action. */
const char *model_action_name(uint8_t action);
const char *model_memory_kind(uint32_t kind);
const char *model_sync_kind(uint32_t kind);
const char *model_overhead_kind(uint32_t kind);

#endif
