/*
 * One step of one process, ready to be shown or analyzed: calls by thread, GPU work by stream,
 * counters, notes, all in nanoseconds of CLOCK_MONOTONIC. Independent of the journal's layout and
 * of output formats. Read-only once built.
 */
#ifndef CORE_MODEL_H
#define CORE_MODEL_H

#include "core/model/tables.h"
#include "core/runtime/kinds.h"
#include "core/util/bisect.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct frames;

#define MODEL_NO_CALL	UINT32_MAX
#define MODEL_NO_THREAD UINT32_MAX

struct model_call {
	uint64_t begin_ns, end_ns;
	uint64_t stream;
	uint64_t handle; /* address, event or graph exec, by category */
	uint64_t bytes;
	uint32_t name;	      /* in `names` */
	uint32_t launch;      /* index + 1 into `launches`, 0: none */
	uint32_t correlation; /* CUPTI's, 0: unknown */
	uint32_t stack;	      /* DICT_STACK: see frames.h; 0: none */
	/* its GPU work: links[first_link], ... are indexes into works */
	uint32_t first_link, n_work;
	/* if this stands for a polling loop: how many queries returned "not ready". The call begins
	 * where the loop did and is the loop's last query. */
	uint32_t polls;
	uint16_t status;
	uint8_t category, space, entry_point, device, copy;
	bool is_captured; /* captured into a graph instead of executed */
};

enum host_memory { HOST_PAGEABLE = 1, HOST_PINNED = 2 }; /* as in CUpti_ActivityMemoryKind */

struct model_work {
	uint64_t begin_ns, end_ns;
	uint64_t bytes, node;
	uint32_t name;
	uint32_t call; /* index into calls, MODEL_NO_CALL: unknown */
	uint32_t correlation, context, stream, graph, peer;
	uint32_t kernel; /* index + 1 into `kernels`, 0: none */
	uint32_t grid[3];
	uint32_t value; /* memset's byte pattern, GPU_SYNC's event */
	uint32_t lane;	/* within the track: work of one lane never overlaps */
	uint8_t kind;	/* enum work_kind */
	uint8_t device, flags;
	uint8_t source, target; /* CUpti_ActivityMemoryKind */
};

struct model_thread {
	uint32_t tid;
	char name[16];
	size_t first, n; /* in calls, by begin_ns; n is 0 if it has only ranges */
};

struct model_stream {
	uint32_t device, context, stream;
	bool is_wait; /* holds only WORK_SYNC; a stream's work and its waits are separate entries */
	uint32_t n_lanes;
	size_t first, n; /* in works, by begin_ns */
};

enum model_range_kind {
	MODEL_RANGE_NESTED,  /* push/pop on one thread; those of a domain nest */
	MODEL_RANGE_MARK,    /* has no duration */
	MODEL_RANGE_STARTED, /* start/end: may end on another thread and overlap others */
};

/* The part of an NVTX range that lies in the step. */
struct model_range {
	uint64_t begin_ns, end_ns;
	uint64_t id;
	uint32_t name, domain; /* in `names`; domain 0: the default one */
	uint32_t color;	       /* ARGB, 0: none */
	uint32_t thread;       /* that began it: index into threads, or MODEL_NO_THREAD */
	uint8_t kind;
	bool begins_before, ends_after; /* cut at the step's edges */
};

/* A call of a library (NCCL, cuBLAS, ...) that ended in the step. */
struct model_library {
	uint64_t begin_ns, end_ns;
	/* of the GPU work that it or its group launched; 0: none */
	uint64_t gpu_begin_ns, gpu_end_ns;
	uint64_t gpu_ns;      /* sum of that work's times; of a group the call's share by bytes */
	uint64_t m, n, k;     /* FACTS_GEMM */
	uint64_t count, comm; /* FACTS_COLLECTIVE, FACTS_MESSAGE: as in rec_library */
	uint32_t batch, sequence;
	int32_t peer;
	uint32_t name;		      /* in `names` */
	uint32_t thread;	      /* index into threads */
	uint32_t first_call, n_calls; /* that it or its group made; index into calls */
	uint32_t work;		      /* the longest one; index into works, MODEL_NO_WORK: none */
	uint16_t status, rank, n_ranks;
	uint8_t family, facts, type, compute;
	bool begins_before; /* begin cut at the step's edge */
	bool is_grouped;    /* its group's end launched for it */
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
	uint32_t device; /* DEVICE_UNKNOWN: of the whole process */
	VEC(struct model_point) points;
};

/* An event of a framework's allocator: a block was allocated or freed, an allocation failed, or a
 * block was live at the step's begin. */
struct model_block {
	uint64_t ns; /* LIVE: about when it was allocated */
	uint64_t address, bytes;
	uint64_t allocated_bytes, reserved_bytes; /* the device's totals afterwards; not for LIVE */
	uint32_t stack;
	uint32_t thread; /* in threads, or MODEL_NO_THREAD */
	uint8_t event;	 /* enum block_event */
	uint8_t device;
};

/* A device allocation of the driver that was live at the step's begin. Filled only if there are
 * blocks. */
struct model_segment {
	uint64_t address, bytes;
	uint32_t stack, device;
};

struct model_overhead {
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	uint16_t what;
};

/* Work of earlier calls that kept a device busy during the step. Not shown here, because it belongs
 * to the step that launched it. */
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

/* Whether a recorded step is a plain iteration of the loop. */
enum model_part {
	MODEL_WHOLE,
	MODEL_SET_UP, /* includes everything before the first iteration */
	MODEL_REST,   /* not an iteration: what came after the last one's end */
};

struct model_step {
	const struct tables *tables; /* names, launches, kernels, devices */
	struct frames *frames;	     /* resolves the calls' stacks; NULL: they are not looked up */
	uint32_t pid;
	uint64_t process_start;
	const char *command; /* "" if unknown */
	struct model_clock clock;
	uint64_t number;
	uint8_t action;
	const char *detector; /* of steps: step_detector_name() */
	enum model_part part;
	bool is_cut;	   /* the process died during the step, or is_lost */
	bool is_lost;	   /* its anchor stopped occurring, so its end is unknown */
	bool has_no_end;   /* is_cut, or the last step, which no other follows */
	bool is_whole_run; /* no steps were detected: everything that was recorded */
	uint64_t begin_ns, end_ns;
	VEC(struct model_thread) threads;
	VEC(struct model_call) calls;
	VEC(struct model_stream) streams;
	VEC(struct model_work) works;
	VEC(uint32_t) links;
	/* sorted by kind, thread (except started ones) and time, outer ones first */
	VEC(struct model_range) ranges;
	VEC(struct model_library) libraries; /* by thread, then by time, outer ones first */
	VEC(struct model_counter) counters;
	VEC(struct model_block) blocks; /* first n_live_blocks BLOCK_LIVE, then events by ns */
	size_t n_live_blocks;
	/* number of the window; within one the live blocks are known without gaps */
	uint64_t block_window;
	VEC(struct model_segment) segments;
	VEC(struct model_overhead) overheads;
	VEC(struct model_earlier) earlier;
	VEC(struct model_note) notes;
	uint64_t n_calls_without_work, n_works_without_call;
};

void model_free(struct model_step *m);

/* Returns the memory that it takes. */
size_t model_bytes(const struct model_step *m);

/* Returns the counter (in bytes) of that name, added if it is missing. */
struct model_counter *model_counter_of(struct model_step *m, const char *name, uint32_t device);

/* Sorts works into streams and lanes, and links calls to them. */
void model_finish(struct model_step *m);
/* Adds the counter "launches in flight", after model_finish(). 32 bytes per call with work. */
void model_count_in_flight(struct model_step *m);

/* Returns which of the thread's calls is the first that begins at `ns` or later; t->n: none. */
static inline size_t model_first_call(const struct model_step *m, const struct model_thread *t,
				      uint64_t ns)
{
	return bisect(t->n, i, m->calls.at[t->first + i].begin_ns < ns);
}

/* Writes "Memcpy HtoD (Pinned -> Device)"; `kind` is a CUpti_ActivityMemcpyKind. */
void model_copy_name(char *to, size_t bytes, uint32_t kind, uint32_t source, uint32_t target);
/* Writes "Memset (Device)", or "Memset" if CUPTI does not give the kind of memory. */
void model_memset_name(char *to, size_t bytes, uint32_t memory);
/* Returns "record", ... for an enum sched_action. */
const char *model_action_name(uint8_t action);
const char *model_memory_kind(uint32_t kind);
const char *model_sync_kind(uint32_t kind);
const char *model_overhead_kind(uint32_t kind);

#endif
