/*
 * The recorded steps of one process, as flat arrays for the summaries and the replay. This is what
 * is kept of each model_step. Times are ns of CLOCK_MONOTONIC. Indexes are into the timeline's own
 * arrays.
 */
#ifndef CORE_TIMELINE_H
#define CORE_TIMELINE_H

#include "core/analysis/idle_sums.h"
#include "core/analysis/module_sums.h"
#include "core/analysis/operator_sums.h"
#include "core/analysis/phases.h"
#include "core/analysis/waits.h"
#include "core/model/model.h"
#include "core/symbols/frames.h"

/* What the host waits for in a call. */
enum timeline_wait {
	WAIT_NONE,
	WAIT_STREAM, /* until `stream` is done */
	WAIT_EVENT,  /* until the event `handle` is done */
	WAIT_DEVICE, /* until everything is done */
	WAIT_COPY,   /* until the copy is done: synchronous ones, D2H to pageable memory */
	WAIT_ALLOC,  /* cudaFree, cudaMalloc and similar calls that had to wait for the device */
};

struct timeline_call {
	uint64_t begin_ns, end_ns;
	uint64_t stream, handle, bytes;
	uint32_t name;	   /* in tables->names: the API function */
	uint32_t stack;	   /* DICT_STACK */
	uint32_t site;	   /* frames_site() */
	uint32_t op;	   /* in `texts`: innermost operator; 0: none */
	uint32_t outer_op; /* in `texts`: outermost operator */
	/* For calls of the backward pass: the forward line that they belong to; 0: not known. */
	uint32_t forward_site;
	uint32_t thread;	     /* in threads */
	uint32_t step;		     /* in steps */
	uint32_t first_work, n_work; /* in work_of_call */
	uint16_t status;
	uint8_t category; /* CAT_SYNC for a loop of queries */
	uint8_t space, device, copy, wait;
	uint16_t about; /* of its stack: see stack_about.h */
	bool is_captured;
	bool is_backward; /* made by autograd, in a node or between nodes */
};

struct timeline_work {
	uint64_t begin_ns, end_ns;
	uint64_t bytes;
	uint32_t name;	 /* in tables->names */
	uint32_t kernel; /* as in model_work */
	uint32_t call;	 /* in calls, or MODEL_NO_CALL */
	uint32_t stream; /* in streams */
	uint32_t step;
	uint8_t kind, device, source, target, flags;
};

struct timeline_stream {
	uint32_t device, context, stream; /* CUPTI's number */
	/* The application's handle, from calls that launched work here; 0: default stream, or not
	 * known. */
	uint64_t handle;
	bool is_guess; /* from a graph's launch, whose work may run on other streams */
};

struct timeline_step {
	uint64_t number, begin_ns, end_ns;
	/* Calls are sorted by begin_ns within the step, over all threads. */
	uint32_t first_call, n_calls;
	/* Works are sorted likewise; GPU_SYNC records are left out. */
	uint32_t first_work, n_work;
	bool follows; /* directly follows the previous step here */
	bool is_cut;
	bool has_gpu;	      /* GPU times were recorded */
	uint64_t overhead_ns; /* CUPTI's overhead as reported by CUPTI */
};

/* Overhead in a thread, reported by CUPTI: its own work, or loading and compiling by the driver. */
struct timeline_overhead {
	uint64_t begin_ns, end_ns;
	uint32_t thread; /* in threads; TIMELINE_NO_THREAD: one that made no calls */
	uint32_t step;
	uint16_t what; /* as in rec_overhead */
};

#define TIMELINE_NO_THREAD UINT32_MAX

/* Device time of work launched before the recorded steps, which is not in `works`. */
struct timeline_earlier {
	uint64_t begin_ns, end_ns;
	uint32_t device;
};

/* A library call whose arithmetic or data volume is known. */
struct timeline_library {
	uint64_t gpu_begin_ns, gpu_end_ns; /* 0: no GPU times */
	uint64_t gpu_ns;
	double flops, bytes, bus_factor;
	uint64_t comm; /* with `sequence`: identifies the collective; 0: not known */
	uint32_t sequence;
	uint32_t step;
	uint32_t name;	 /* in tables->names: the function */
	uint32_t kernel; /* in tables->names: of the longest work; 0: none */
	uint32_t site, op;
	uint16_t n_ranks;
	uint8_t facts, type, device;
};

struct timeline_thread {
	uint32_t tid;
	char name[16];
};

/* What is derived from a stack, looked up once. */
struct timeline_stack {
	uint32_t site, op, outer_op;
	uint32_t module; /* row of module_sums */
	uint16_t about;
};

struct timeline {
	const struct tables *tables;
	struct frames *frames;
	struct strtab texts;
	VEC(struct timeline_step) steps;
	VEC(struct timeline_call) calls;
	VEC(struct timeline_work) works;
	VEC(uint32_t) work_of_call;
	VEC(struct timeline_library) libraries;
	VEC(struct timeline_stream) streams;
	VEC(struct timeline_thread) threads;
	VEC(struct timeline_overhead) overheads; /* by begin_ns within a step */
	VEC(struct timeline_earlier) earlier;
	VEC(struct timeline_stack) stacks;
	struct map stack_of; /* DICT_STACK -> stacks */
	struct waits waits;
	struct idle_sums idle;
	/* sums over the steps */
	struct phase_sums phase_sums;
	VEC(struct phase_sums) phases_of_step; /* the same for each of `steps` */
	struct operator_sums operators;
	struct module_sums modules;
	uint32_t backward_site; /* of the newest call made within backward() */
	uint64_t n_cut;		/* steps left out because of TIMELINE_EVENTS_MOST */
	/* The factor by which recording makes steps longer (cost_ratio()); 0: not known. */
	double recording_ratio;
	/* The same for other load on the machine (cost_disturbed()); 0: not known. */
	double disturbed_ratio;
	uint32_t pid;
};

/* A copy to the device of this size or more is a batch of input; smaller ones carry numbers and
 * shapes. Eight sequences of eight 64-bit tokens are a batch. */
enum { TIMELINE_BATCH_BYTES = 512 };

/* 4 million events take about 400 MB; of a longer recording only the first steps are analyzed
 * (n_cut). */
enum { TIMELINE_EVENTS_MOST = 4000000 };

void timeline_start(struct timeline *t, const struct tables *tables, struct frames *frames);
void timeline_free(struct timeline *t);

/* Returns what the stack means. */
struct timeline_stack timeline_stack(struct timeline *t, uint32_t stack);

/* ---- For the analyzer ---- */

/* How much a timeline holds. */
struct timeline_mark {
	size_t steps, calls, works, work_of_call, libraries, overheads, earlier, waits;
};

struct timeline_mark timeline_mark(const struct timeline *t);
/* Drops the events added since the mark. Threads, streams and texts stay. */
void timeline_rewind(struct timeline *t, const struct timeline_mark *mark);

/* Returns true if the step fits into TIMELINE_EVENTS_MOST. */
bool timeline_has_room(const struct timeline *t, const struct model_step *m);

/* Appends a step's events. Returns the timeline's number of each of the step's calls; the caller
 * frees the array. */
uint32_t *timeline_add_events(struct timeline *t, const struct model_step *m);

enum timeline_overhead_kind {
	OVERHEAD_PROFILER, /* CUPTI's own work */
	OVERHEAD_MODULE,   /* the driver loads or compiles code */
	OVERHEAD_QUEUE,	   /* a full launch queue: due to the device, not an overhead */
};
enum timeline_overhead_kind timeline_overhead_kind(uint16_t what);

/* timeline_wait.c: sets `wait` of a step's calls; the step's works must have been added. */
void timeline_find_waits(struct timeline *t, const struct timeline_step *step);

#endif
