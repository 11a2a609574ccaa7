/*
 * The recorded steps of one process side by side, as flat arrays that the summaries and the replay work on: what is left of a
 * model_step once it is over. Times are ns of CLOCK_MONOTONIC. Indexes are into the timeline's own arrays.
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

/* What a call does to the host that makes it. */
enum timeline_wait {
	WAIT_NONE,
	WAIT_STREAM, /* until `stream` is done */
	WAIT_EVENT,  /* until the event `handle` is done */
	WAIT_DEVICE, /* until everything is done */
	WAIT_COPY, /* a copy that returns when it is done: synchronous ones, D2H to pageable memory */
	WAIT_ALLOC, /* cudaFree, cudaMalloc and their kin that had to wait for the device */
};

struct timeline_call {
	uint64_t begin_ns, end_ns;
	uint64_t stream, handle, bytes;
	uint32_t name;	   /* in dict->names: the API function */
	uint32_t stack;	   /* DICT_STACK */
	uint32_t site;	   /* frames_site() */
	uint32_t op;	   /* in `texts`: innermost operator; 0: none */
	uint32_t outer_op; /* in `texts`: outermost operator */
	uint32_t
		forward_site; /* of the backward pass: the line that made it necessary; 0: not known */
	uint32_t thread;      /* in threads */
	uint32_t step;	      /* in steps */
	uint32_t first_work, n_work; /* in work_of_call */
	uint16_t status;
	uint8_t category; /* of a loop of queries: CAT_SYNC */
	uint8_t space, device, copy, wait;
	uint16_t about; /* of its stack: see stack_about.h */
	bool is_captured;
	bool is_backward; /* autograd's own: of a node, or between nodes */
};

struct timeline_work {
	uint64_t begin_ns, end_ns;
	uint64_t bytes;
	uint32_t name;	 /* in dict->names */
	uint32_t kernel; /* as in model_work */
	uint32_t call;	 /* index, or MODEL_NO_CALL */
	uint32_t stream; /* in streams */
	uint32_t step;
	uint8_t kind, device, source, target, flags;
};

struct timeline_stream {
	uint32_t device, context, stream; /* CUPTI's number */
	uint64_t
		handle; /* the application's, of the calls that work here was made by; 0: default or not known */
	bool is_guess; /* of a graph's launch: it may have run on streams of its own */
};

struct timeline_step {
	uint64_t number, begin_ns, end_ns;
	uint32_t first_call,
		n_calls; /* calls are sorted by begin_ns within the step, all threads together */
	uint32_t first_work, n_work; /* works likewise; GPU_SYNC records are left out */
	bool follows;		     /* directly after the one before it here */
	bool is_cut;
	bool has_gpu;	      /* GPU times were had in it */
	uint64_t overhead_ns; /* CUPTI's own cost by its own account */
};

/* What kept a thread, by CUPTI's account: its own work, or the driver's loading and compiling. */
struct timeline_overhead {
	uint64_t begin_ns, end_ns;
	uint32_t thread; /* in threads; TIMELINE_NO_THREAD: one that made no calls */
	uint32_t step;
	uint16_t what; /* as in rec_overhead */
};

#define TIMELINE_NO_THREAD UINT32_MAX

/* A device was busy with work that is not among the works: it was launched before the recorded steps. */
struct timeline_earlier {
	uint64_t begin_ns, end_ns;
	uint32_t device;
};

/* A call of a library that is known to do arithmetic or to move something. */
struct timeline_library {
	uint64_t gpu_begin_ns, gpu_end_ns; /* 0: no GPU times */
	uint64_t gpu_ns;
	double flops, bytes, bus_factor;
	uint64_t comm; /* with `sequence`: which collective of which communicator; 0: not known */
	uint32_t sequence;
	uint32_t step;
	uint32_t name;	 /* in dict->names: the function */
	uint32_t kernel; /* in dict->names: of the work that took longest; 0: none */
	uint32_t site, op;
	uint16_t n_ranks;
	uint8_t facts, type, device;
};

struct timeline_thread {
	uint32_t tid;
	char name[16];
};

/* What is looked up once per stack. */
struct timeline_stack {
	uint32_t site, op, outer_op;
	uint32_t module; /* row of module_sums */
	uint16_t about;
};

struct timeline {
	const struct dict *dict;
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
	VEC(struct phase_sums) phases_of_step; /* the same, of each of `steps` */
	struct operator_sums operators;
	struct module_sums modules;
	uint32_t backward_site; /* of the newest call made within backward() */
	uint64_t n_cut;		/* steps beyond the budget of events that were left out */
	double recording_ratio; /* how many times as long its steps took for being recorded (cost_ratio()); 0: not known */
	double disturbed_ratio; /* the same for what else the machine did (cost_disturbed()); 0: not known */
	uint32_t pid;
};

/* From this size on a copy to the device is a batch of input: smaller ones carry numbers and shapes. Eight sequences of eight tokens
 * are a batch. */
enum { TIMELINE_BATCH_BYTES = 512 };

/* 4 million events: about 400 MB; a run that arms more is judged by its first steps (n_cut). */
enum { TIMELINE_EVENTS_MOST = 4000000 };

void timeline_start(struct timeline *t, const struct dict *dict, struct frames *frames);
void timeline_free(struct timeline *t);

/* What a stack says, looked up once. */
struct timeline_stack timeline_stack(struct timeline *t, uint32_t stack);

/* ---- For the analyzer ---- */

/* How much a timeline holds. */
struct timeline_mark {
	size_t steps, calls, works, work_of_call, libraries, overheads, earlier, waits;
};

struct timeline_mark timeline_mark(const struct timeline *t);
/* Drops the events that were added since. Threads, streams and texts stay. */
void timeline_rewind(struct timeline *t, const struct timeline_mark *mark);

/* True if the step fits into TIMELINE_EVENTS_MOST. */
bool timeline_has_room(const struct timeline *t, const struct model_step *m);

/* Appends a step's events. Returns the timeline's number of each of the step's calls; the caller
 * frees it. */
uint32_t *timeline_add_events(struct timeline *t, const struct model_step *m);

enum timeline_overhead_kind {
	OVERHEAD_PROFILER, /* CUPTI's own work */
	OVERHEAD_MODULE,   /* the driver loads or compiles code */
	OVERHEAD_QUEUE,	   /* a full queue to the device: the device's business */
};
enum timeline_overhead_kind timeline_overhead_kind(uint16_t what);

/* timeline_wait.c: fills `wait` of a step's calls once its works are there. */
void timeline_find_waits(struct timeline *t, const struct timeline_step *step);

#endif
