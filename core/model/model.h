/*
 * One step of one process, ready to be shown or analyzed: calls by thread, GPU work by stream,
 * counters, and notes. All times are nanoseconds of CLOCK_MONOTONIC. The model does not depend on
 * the journal's layout or on output formats. It is read-only once it is built.
 */
#ifndef CORE_MODEL_H
#define CORE_MODEL_H

#include "core/model/completeness.h"
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
	uint64_t handle; /* by category: an address, an event, or a graph exec */
	uint64_t bytes;
	uint32_t name;	      /* in `names` of the tables: the API function */
	uint32_t launch;      /* index + 1 in `launches` of the tables; 0: none */
	uint32_t correlation; /* CUPTI's correlation id; 0: unknown */
	uint32_t stack;	      /* number of the call's stack, see frames.h; 0: none */
	/* the call's GPU work: n_work elements of `links`, from links[first_link] on, each of which
	 * is an index in `works` */
	uint32_t first_link, n_work;
	/* Not 0: the call stands for a loop that polled an event or stream, and this is the number
	 * of its queries that returned "not ready". begin_ns is then the start of the loop. All
	 * other fields describe the loop's last query. */
	uint32_t polls;
	uint16_t status; /* result code of the API, 0: success */
	/* values of enums in kinds.h: record_category, record_space, record_entry_point,
	 * record_copy; but `device` is the device's number or DEVICE_UNKNOWN */
	uint8_t category, space, entry_point, device, copy;
	bool is_captured;     /* captured into a graph instead of executed */
	bool is_first_replay; /* the first launch of an executable graph */
};

enum host_memory { HOST_PAGEABLE = 1, HOST_PINNED = 2 }; /* as in CUpti_ActivityMemoryKind */

struct model_work {
	uint64_t begin_ns, end_ns;
	/* `bytes`: size of a copy or memset; `node`: id of the graph node, 0: not from a graph */
	uint64_t bytes, node;
	uint32_t name; /* in `names` of the tables */
	uint32_t call; /* index in `calls`; MODEL_NO_CALL: unknown */
	/* The call that became this work's graph node when the graph was captured: an index in
	 * `captured`. MODEL_NO_CALL: the work is not from a graph, or that call is unknown. */
	uint32_t origin;
	/* CUPTI's ids; `peer`: the other device of a copy between devices */
	uint32_t correlation, context, stream, graph, peer;
	uint32_t kernel;  /* index + 1 in `kernels` of the tables; 0: none */
	uint32_t grid[3]; /* of a kernel */
	uint32_t value;	  /* WORK_MEMSET: the value written; WORK_SYNC: CUPTI's id of the event */
	uint32_t lane;	  /* within the stream, from 0; works of the same lane never overlap */
	uint8_t kind;	  /* enum work_kind */
	uint8_t device, flags;	/* `flags`: enum gpu_flag */
	uint8_t source, target; /* CUpti_ActivityMemoryKind; of a memset only `target` */
};

struct model_thread {
	uint32_t tid;
	char name[16];
	/* the thread's `n` calls, from calls[first] on, sorted by begin_ns; `n` is 0 for a thread
	 * that has only NVTX ranges or samples in the step */
	size_t first, n;
};

/* The works of one CUDA stream. The stream's waits (WORK_SYNC) have an entry of their own. */
struct model_stream {
	uint32_t device, context, stream;
	bool is_wait; /* this is the entry of the stream's waits */
	uint32_t n_lanes;
	size_t first, n; /* `n` works, from works[first] on, sorted by begin_ns */
};

enum model_range_kind {
	/* push and pop, on one thread; ranges of the same thread and domain nest */
	MODEL_RANGE_NESTED,
	MODEL_RANGE_MARK,    /* a mark, which has no duration */
	MODEL_RANGE_STARTED, /* start and end: may end on another thread, may overlap others */
};

/* The part of an NVTX range that lies in the step. */
struct model_range {
	uint64_t begin_ns, end_ns;
	uint64_t id;	       /* as in rec_range */
	uint32_t name, domain; /* in `names` of the tables; domain 0: the default domain */
	uint32_t color;	       /* ARGB; 0: none */
	uint32_t thread; /* thread that began the range: index in `threads`, or MODEL_NO_THREAD */
	uint8_t kind;	 /* enum model_range_kind */
	/* The range began before the step, or ended after the step. begin_ns or end_ns is then that
	 * of the step. */
	bool begins_before, ends_after;
};

/* A call of a framework's operator, with or without CUDA calls inside it. */
struct model_operator {
	uint64_t begin_ns, end_ns;
	uint32_t name;	 /* in `names` of the tables */
	uint32_t thread; /* index in `threads` */
};

/*
 * A call of a library (NCCL, cuBLAS, ...) that ended in the step. NCCL calls can form a group,
 * whose last call launches the GPU work of all its members. In a member, the fields about CUDA
 * calls and GPU work are those of the whole group, except gpu_ns.
 */
struct model_library {
	uint64_t begin_ns, end_ns;
	/* begin of the first and end of the last GPU work that the call or its group launched; 0:
	 * no work */
	uint64_t gpu_begin_ns, gpu_end_ns;
	/* sum of the durations of the call's GPU work; for a member of a group, a share of the
	 * group's sum in proportion to the call's bytes */
	uint64_t gpu_ns;
	uint64_t m, n, k; /* FACTS_GEMM: as in rec_library; `batch` likewise */
	/* FACTS_COLLECTIVE, FACTS_MESSAGE: as in rec_library; `sequence`, `peer`, `rank` and
	 * `n_ranks` likewise */
	uint64_t count, comm;
	/* FACTS_OPERATOR: as in struct operator_cost; `shape` in `names` of the tables */
	double flops, flops_most, moved_bytes;
	uint32_t shape;
	uint32_t batch, sequence;
	int32_t peer;
	uint32_t name;	 /* in `names` of the tables: the library function */
	uint32_t thread; /* index in `threads` */
	/* the CUDA calls that the library call or its group made: n_calls, from calls[first_call]
	 * on */
	uint32_t first_call, n_calls;
	/* index in `works` of the longest kernel, or of the longest work if there is no kernel;
	 * MODEL_NO_WORK: no work */
	uint32_t work;
	uint16_t status, rank, n_ranks; /* `status`: the library's result code, 0: success;
					 * `rank`: MODEL_NO_RANK: not known */
	/* `family`: enum record_library; `facts`: enum library_facts, which says what `type` and
	 * `compute` are */
	uint8_t family, facts, type, compute;
	bool begins_before; /* the call began before the step; begin_ns is the step's start */
	bool is_grouped;    /* a member of a group, for which the group's last call launched */
};

#define MODEL_NO_WORK UINT32_MAX
#define MODEL_NO_RANK UINT16_MAX

enum model_unit { UNIT_COUNT, UNIT_BYTES };

struct model_point {
	uint64_t ns;
	int64_t value;
};

struct model_counter {
	const char *name; /* static text */
	enum model_unit unit;
	uint32_t device; /* DEVICE_UNKNOWN: the counter is about the whole process */
	VEC(struct model_point) points;
};

/*
 * An event of a framework's allocator: a block was allocated or freed, an allocation failed, or a
 * block was live at the step's start.
 */
struct model_block {
	uint64_t ns; /* BLOCK_LIVE: approximate time of the block's allocation */
	uint64_t address, bytes;
	/* the device's totals after the event; unused for BLOCK_LIVE */
	uint64_t allocated_bytes, reserved_bytes;
	uint32_t stack;
	uint32_t thread; /* index in `threads`, or MODEL_NO_THREAD */
	uint8_t event;	 /* enum block_event */
	uint8_t device;
};

/* A device allocation from the driver that was live at the step's start. There are segments only if
 * the process uses a framework's allocator. */
struct model_segment {
	uint64_t address, bytes;
	uint32_t stack, device;
};

/* Time that CUPTI or the driver spent on its own work, as CUPTI reports it. */
struct model_overhead {
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	uint16_t what; /* as in rec_overhead; model_overhead_kind() returns its name */
};

/*
 * GPU work that an earlier step launched and that kept a device busy during this step. It is not in
 * `works`, because it belongs to the step that launched it.
 */
struct model_earlier {
	uint64_t begin_ns, end_ns;
	uint32_t device;
};

/* A remark to be shown in the trace, such as a number of dropped records. */
struct model_note {
	uint64_t ns;
	char text[240];
};

/* Where a thread was at one moment between two calls. */
struct model_sample {
	uint64_t ns;
	uint32_t stack;	      /* number of its stack, which has Python frames only; 0: unknown */
	uint32_t thread;      /* index in `threads` */
	uint32_t holder;      /* SAMPLE_GIL: as `stack`, of the thread that had the GIL */
	uint8_t state, flags; /* enum sample_state, enum sample_flag */
};

/* Within this span, a thread was ready to run for `ns` while other threads had the CPUs. */
struct model_cpu_wait {
	uint64_t begin_ns, end_ns, ns;
	uint32_t thread; /* index in `threads` */
};

/* Readings of three clocks at the same moment. */
struct model_clock {
	uint64_t monotonic_ns, realtime_ns, boottime_ns;
};

/* Which part of the main loop a step contains. */
enum model_part {
	MODEL_WHOLE,  /* one iteration */
	MODEL_SET_UP, /* the first iteration and everything before it */
	MODEL_REST,   /* no iteration, only what followed the end of the last iteration */
};

struct model_step {
	const struct tables *tables; /* the process's names, launches, kernels, devices; borrowed */
	/* resolves the stacks of calls; borrowed; NULL: stacks are not resolved */
	struct frames *frames;
	uint32_t pid;
	uint64_t process_start; /* as in journal_header */
	const char *command;	/* "" if unknown */
	struct model_clock clock;
	uint64_t number;      /* from 0 */
	uint8_t action;	      /* enum sched_action */
	bool is_traced;	      /* traces of this step are wanted */
	const char *detector; /* what detects steps: "auto", "nvtx", ... (static text) */
	enum model_part part;
	bool is_cut;	 /* the process was killed during the step, or is_lost is set */
	bool is_lost;	 /* the anchor stopped occurring, so the step's end is unknown */
	bool has_no_end; /* is_cut is set, or the step lasted until the process exited */
	/* the application's own profiler had CUPTI, so GPU times may be missing */
	bool was_yielded;
	bool is_whole_run; /* no steps were detected; this is everything that was recorded */
	uint64_t begin_ns, end_ns;
	/* What the CPU did is known until then; later, only what the GPU did. 0: until `end_ns`. */
	uint64_t cpu_end_ns;
	VEC(struct model_thread) threads;
	VEC(struct model_call) calls;
	/* The calls whose captured nodes ran in the step, in capture order within a graph. They may
	 * have been made long before the step, and have no links. */
	VEC(struct model_call) captured;
	/* Matrix products of libraries that were captured. Of their fields only those that describe
	 * the product are set. `product_of`: for each of the first calls in `captured`, its index
	 * in `products` + 1, or 0. */
	VEC(struct model_library) products;
	VEC(uint32_t) product_of;
	VEC(struct model_stream) streams;
	VEC(struct model_work) works;
	VEC(uint32_t) links; /* see first_link of struct model_call */
	/* sorted by kind, then by thread (except MODEL_RANGE_STARTED), then by time; outer ranges
	 * come before inner ranges */
	VEC(struct model_range) ranges;
	/*
	 * Sorted by thread, then by time; outer operators come before inner ones. Empty if the
	 * source has only stacks: operators are then derived from these (core/analysis/spans.h).
	 */
	VEC(struct model_operator) operators;
	/* sorted by thread, then by time; outer calls come before inner calls */
	VEC(struct model_library) libraries;
	VEC(struct model_counter) counters;
	/* the first n_live_blocks have the event BLOCK_LIVE, the others are sorted by time */
	VEC(struct model_block) blocks;
	size_t n_live_blocks;
	/* number of the window that the step belongs to; between steps of the same window, all
	 * changes of the live blocks are known */
	uint64_t block_window;
	VEC(struct model_segment) segments;
	VEC(struct model_overhead) overheads;
	VEC(struct model_earlier) earlier;
	VEC(struct model_sample) samples; /* sorted by thread, then by time */
	/* one that began in the step before, or ends in the next step, is in both steps */
	VEC(struct model_cpu_wait) cpu_waits;
	VEC(struct model_note) notes;
	/* calls whose GPU records are missing, and GPU work that was not paired with a call */
	uint64_t n_calls_without_work, n_works_without_call;
	struct launch_counts launches;
	struct graph_counts graphs;
};

/*
 * Returns the captured call whose code the work belongs to, an index in `captured`. Returns
 * MODEL_NO_CALL if the work's code is that of the call that launched it: the work is not from a
 * graph, or the captured call or its stack is unknown.
 */
static inline uint32_t model_work_origin(const struct model_step *m, const struct model_work *w)
{
	return w->origin < m->captured.n && m->captured.at[w->origin].stack ? w->origin
									    : MODEL_NO_CALL;
}

/*
 * Returns the number of the stack that the work's code is known by: that of the call that was
 * captured if the work is from a graph, else that of the call that launched it; 0: none.
 */
static inline uint32_t model_work_stack(const struct model_step *m, const struct model_work *w)
{
	uint32_t origin = model_work_origin(m, w);
	if (origin != MODEL_NO_CALL)
		return m->captured.at[origin].stack;
	return w->call < m->calls.n ? m->calls.at[w->call].stack : 0;
}

/* Frees the step's contents, but not `m` itself. */
void model_free(struct model_step *m);

/* Returns how many bytes of memory the step takes. */
size_t model_bytes(const struct model_step *m);

/*
 * Returns the device's counter with this name, in bytes. Adds the counter if it is missing. `name`
 * must be static text. The pointer is valid until the next counter is added.
 */
struct model_counter *model_counter_of(struct model_step *m, const char *name, uint32_t device);

/* Sorts works into streams and lanes, and links calls and library calls to their works. */
void model_finish(struct model_step *m);
/*
 * Adds the counter "launches in flight". Must be called after model_finish(). The counter takes 32
 * bytes per call with work.
 */
void model_count_in_flight(struct model_step *m);

/*
 * Returns the position, among the thread's calls, of the first call that begins at `ns` or later;
 * t->n if there is none.
 */
static inline size_t model_first_call(const struct model_step *m, const struct model_thread *t,
				      uint64_t ns)
{
	return bisect(t->n, i, m->calls.at[t->first + i].begin_ns < ns);
}

/*
 * Writes a copy's name, such as "Memcpy HtoD (Pinned -> Device)". `kind` is a
 * CUpti_ActivityMemcpyKind; `source` and `target` are of type CUpti_ActivityMemoryKind.
 */
void model_copy_name(char *to, size_t bytes, uint32_t kind, uint32_t source, uint32_t target);
/*
 * Writes a memset's name, such as "Memset (Device)", or "Memset" if CUPTI does not give the kind of
 * memory. `memory` is a CUpti_ActivityMemoryKind.
 */
void model_memset_name(char *to, size_t bytes, uint32_t memory);
/* Returns "record", ... for an enum sched_action. */
const char *model_action_name(uint8_t action);
/* Returns "Pinned", ... for a CUpti_ActivityMemoryKind. */
const char *model_memory_kind(uint32_t kind);
/* Returns "Stream wait", ... for a CUpti_ActivitySynchronizationType. */
const char *model_sync_kind(uint32_t kind);
/* Returns "module loading", ... for the `what` of struct model_overhead. */
const char *model_overhead_kind(uint32_t kind);

#endif
