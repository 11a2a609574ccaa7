/*
 * The recorded steps of one process, as flat arrays for the summaries and the replay. Of each
 * model_step, this is all that is kept after the step's analysis. Times are ns of CLOCK_MONOTONIC.
 * A comment such as "in steps" says that a field is an index in that array of struct timeline.
 */
#ifndef CORE_TIMELINE_H
#define CORE_TIMELINE_H

#include "core/analysis/host_sums.h"
#include "core/analysis/idle_sums.h"
#include "core/analysis/module_sums.h"
#include "core/analysis/operator_runs.h"
#include "core/analysis/operator_sums.h"
#include "core/analysis/phases.h"
#include "core/analysis/waits.h"
#include "core/model/model.h"
#include "core/symbols/frames.h"
#include "core/symbols/stack_about.h"

/* What the CPU waits for in a call. */
enum timeline_wait {
	WAIT_NONE,
	WAIT_STREAM, /* all work in `stream` */
	WAIT_EVENT,  /* the event `handle` */
	WAIT_DEVICE, /* all work on the device */
	WAIT_COPY,   /* the copy itself: it is synchronous, or its host memory is pageable */
	WAIT_ALLOC,  /* cudaFree, cudaMalloc or a similar call waited for the device */
};

struct timeline_call {
	uint64_t begin_ns, end_ns;
	uint64_t stream, handle, bytes;
	uint32_t name;	   /* in tables->names: name of the API function */
	uint32_t stack;	   /* DICT_STACK */
	uint32_t site;	   /* frames_site() */
	uint32_t op;	   /* in texts: innermost operator; 0: none */
	uint32_t outer_op; /* in texts: outermost operator; 0: none */
	/* If the call belongs to the backward pass, the frames_site() of the forward line that
	 * caused it; 0: not known. */
	uint32_t forward_site;
	uint32_t thread;	     /* in threads */
	uint32_t step;		     /* in steps */
	uint32_t first_work, n_work; /* in work_of_call */
	uint16_t status;
	uint8_t category; /* enum record_category; CAT_SYNC for a polling loop */
	uint8_t space, device, copy, wait;
	uint32_t about;			   /* enum stack_about bits of its stack */
	bool is_captured, is_first_replay; /* as in struct model_call */
	/* What the CPU did since the lane's call before: enum host_kind, and the line that was
	 * sampled. HOST_UNKNOWN: no sample shows it. */
	uint8_t before_kind;
	uint32_t before_site;
	bool is_backward; /* autograd made the call, inside a node or between nodes */
	/* For how long the CPU was waited for since the lane's call before, and within the call
	 * (contention.h). */
	uint32_t waited_before_ns, waited_within_ns;
};

struct timeline_work {
	uint64_t begin_ns, end_ns;
	uint64_t bytes;
	uint32_t name;	 /* in tables->names */
	uint32_t kernel; /* index + 1 in tables->kernels, 0: none */
	uint32_t call;	 /* in calls: what launched it; MODEL_NO_CALL: unknown */
	uint32_t origin; /* in captured: the captured call that it belongs to, or MODEL_NO_CALL */
	uint32_t graph;	 /* CUPTI's id of the executable graph that it is from; 0: none */
	uint32_t stream; /* in streams */
	uint32_t step;
	uint8_t kind, device, source, target, flags;
	/* Of a kernel, as in struct occupancy; 0: not known. `sm_share`: blocks per multiprocessor,
	 * at most 1, times TIMELINE_SM_WHOLE. `occupancy`: 1 + 100 times the percentage. */
	uint16_t sm_share, occupancy;
};

enum { TIMELINE_SM_WHOLE = UINT16_MAX };

struct timeline_stream {
	uint32_t device, context, stream; /* `context`, `stream`: CUPTI's numbers */
	/* The application's stream handle, taken from the calls that launched work here; 0: default
	 * stream, or not known. */
	uint64_t handle;
	/* `handle` comes from a graph launch, and may be wrong: a graph's work may run on other
	 * streams. */
	bool is_guess;
};

struct timeline_step {
	uint64_t number, begin_ns, end_ns;
	uint64_t cpu_end_ns; /* as in struct model_step, but never 0 */
	/* The step's calls in `calls`, all threads together, sorted by begin_ns. */
	uint32_t first_call, n_calls;
	/* The step's GPU work in `works`, all streams together, sorted by begin_ns. WORK_SYNC
	 * records are left out. */
	uint32_t first_work, n_work;
	uint32_t first_sample, n_samples; /* in samples */
	bool follows; /* its number is one more than that of the previous step in `steps` */
	bool is_cut;
	bool has_gpu;	  /* has GPU work with times */
	bool was_yielded; /* as in struct model_step; `is_whole_run` likewise */
	bool is_whole_run;
	uint64_t overhead_ns; /* time of CUPTI's own work, reported by CUPTI */
};

/* Overhead that CUPTI reported for a thread: work of CUPTI itself, or code that the driver loaded
 * or compiled. */
struct timeline_overhead {
	uint64_t begin_ns, end_ns;
	uint32_t thread; /* in threads; TIMELINE_NO_THREAD: made no calls */
	uint32_t step;
	uint16_t what; /* as in rec_overhead; see timeline_overhead_kind() */
};

#define TIMELINE_NO_THREAD UINT32_MAX

/* Where a thread was between two calls: a model_sample with what its stack says. */
struct timeline_sample {
	uint64_t ns;
	uint32_t stack, site; /* 0: unknown */
	uint32_t holder_site; /* SAMPLE_GIL: of the thread that had the GIL; 0: unknown */
	uint32_t thread;      /* in threads */
	uint8_t state, kind;  /* enum sample_state; enum host_kind, see host_kinds.h */
	uint8_t known;	      /* enum stack_known */
	bool fetches;	      /* ABOUT_FETCH: it may be input */
	bool launches;	      /* ABOUT_LAUNCHING */
};

/* Within this span, a thread was ready to run for `ns` while other threads had the CPUs. */
struct timeline_cpu_wait {
	uint64_t begin_ns, end_ns, ns;
	uint32_t thread; /* in threads */
};

/* When a device ran work launched before the recorded steps. This work is not in `works`. */
struct timeline_earlier {
	uint64_t begin_ns, end_ns;
	uint32_t device;
};

/* A library call whose arithmetic or data volume is known. */
struct timeline_library {
	uint64_t gpu_begin_ns, gpu_end_ns; /* of its GPU work; 0: no GPU times */
	uint64_t gpu_ns;
	double flops, bytes, bus_factor;
	/* of a framework's operator, as in struct model_library; shape 0: not such an operator */
	double flops_most, moved_bytes;
	uint32_t shape;
	uint64_t comm; /* `comm` and `sequence` identify a collective; 0: not known */
	uint32_t sequence;
	uint32_t step;
	uint32_t name;	 /* in tables->names: name of the library function */
	uint32_t kernel; /* in tables->names: its longest kernel; 0: none */
	uint32_t site, op;
	uint16_t n_ranks;
	uint8_t facts, type, device;
};

struct timeline_thread {
	uint32_t tid;
	char name[16];
};

/* How well a stack says where the program is. */
enum stack_known { STACK_UNKNOWN, STACK_OF_LIBRARY, STACK_OF_PYTHON, STACK_OF_USER };

/* Facts derived from a stack. They are looked up once per stack. */
struct timeline_stack {
	uint32_t site, op, outer_op;
	uint32_t module; /* row of module_sums, from 1; 0: none */
	uint32_t about;
	bool has_python;
	uint8_t known; /* enum stack_known */
};

struct timeline {
	const struct tables *tables;
	struct frames *frames;
	struct strtab texts;
	VEC(struct timeline_step) steps;
	VEC(struct timeline_call) calls;
	VEC(struct timeline_work) works;
	/* Calls that became nodes of graphs. They were made at any time before their work ran, and
	 * belong to no lane. For each step, those whose work ran in it. */
	VEC(struct timeline_call) captured;
	VEC(uint32_t) work_of_call;
	VEC(struct timeline_library) libraries;
	VEC(struct timeline_stream) streams;
	VEC(struct timeline_thread) threads;
	VEC(struct timeline_overhead) overheads; /* step by step, by begin_ns */
	VEC(struct timeline_earlier) earlier;
	VEC(struct timeline_sample) samples;	 /* step by step, by ns */
	VEC(struct timeline_cpu_wait) cpu_waits; /* only those of the newest step */
	VEC(struct timeline_stack) stacks;
	struct map stack_of; /* DICT_STACK -> index in `stacks` */
	struct waits waits;
	struct idle_sums idle;
	struct host_sums host;
	/* sums over all kept steps */
	struct phase_sums phase_sums;
	VEC(struct phase_sums) phases_of_step; /* one phase_sums per step */
	struct operator_sums operators;
	struct operator_runs runs;
	struct module_sums modules;
	uint32_t backward_site; /* user's line of the newest call made within backward() */
	uint64_t n_cut;		/* steps left out because TIMELINE_EVENTS_MOST was reached */
	/* Factor by which recording makes steps longer (cost_ratio()); 0: not known. */
	double recording_ratio;
	/* Factor by which other load on the machine made the recorded steps longer
	 * (cost_disturbed()); 0: not known. */
	double disturbed_ratio;
	uint32_t pid;
};

/*
 * A copy to the device of at least this size counts as a batch of input; smaller copies carry
 * single numbers and shapes. The limit is the size of a small batch: eight sequences of eight
 * 64-bit tokens.
 */
enum { TIMELINE_BATCH_BYTES = 512 };

/* Limit of calls and works together. 4 million take about 400 MB. Of a longer recording only the
 * first steps are analyzed; n_cut counts the others. */
enum { TIMELINE_EVENTS_MOST = 4000000 };

/* Returns true if the call copies a batch to the device, as far as can be seen. */
static inline bool timeline_is_batch(const struct timeline_call *c)
{
	return c->category == CAT_MEMCPY && c->copy == COPY_H2D &&
	       c->bytes >= TIMELINE_BATCH_BYTES && !(c->about & (ABOUT_COLLECTIVE | ABOUT_PASS));
}

/* At most this many calls, such as allocations and events, may lie between the making of a batch
 * and its copy to the device. */
enum { TIMELINE_BATCH_CALLS = 8 };

/*
 * Returns the call whose code the work belongs to: the captured call if the work is from a graph,
 * else the call that launched it. NULL: not known. Lines, operators, modules and phases count the
 * work where this call was made.
 */
static inline const struct timeline_call *timeline_code(const struct timeline *t,
							const struct timeline_work *w)
{
	if (w->origin != MODEL_NO_CALL)
		return &t->captured.at[w->origin];
	return w->call != MODEL_NO_CALL ? &t->calls.at[w->call] : NULL;
}

/* Returns the line to name for the work: that of timeline_code() or, for a call of autograd's
 * threads, the forward line that caused it, if that is known. 0: not known. */
static inline uint32_t timeline_line(const struct timeline *t, const struct timeline_work *w)
{
	const struct timeline_call *c = timeline_code(t, w);
	if (!c)
		return 0;
	return c->forward_site && c->about & ABOUT_WORKER ? c->forward_site : c->site;
}

void timeline_start(struct timeline *t, const struct tables *tables, struct frames *frames);
void timeline_free(struct timeline *t);

/* Returns the facts derived from a stack (a DICT_STACK); all zeros for 0. */
struct timeline_stack timeline_stack(struct timeline *t, uint32_t stack);

/* ---- For the analyzer ---- */

/* Looks up the sites of all stacks again, after frames_add_loop(). */
void timeline_find_sites(struct timeline *t);

/* Lengths of the timeline's arrays at one moment, for timeline_rewind(). */
struct timeline_mark {
	size_t steps, calls, captured, works, work_of_call, libraries, overheads, earlier, waits,
		samples;
};

struct timeline_mark timeline_mark(const struct timeline *t);
/* Removes the steps, calls, works and other events added since the mark. Threads, streams, stacks
 * and texts stay. */
void timeline_rewind(struct timeline *t, const struct timeline_mark *mark);

/* Returns true if the step fits into TIMELINE_EVENTS_MOST and the memory limit. */
bool timeline_has_room(const struct timeline *t, const struct model_step *m);

/* Appends a step with its events. Returns an array that maps each call's index in the model to its
 * index in the timeline's calls; the caller frees it. */
uint32_t *timeline_add_events(struct timeline *t, const struct model_step *m);

/* timeline_lines.c: returns true if the site is a line of the user's code. */
bool timeline_is_user_line(struct timeline *t, uint32_t site);
/* Returns true if the site is a user's line, and the call was made within backward(). */
bool timeline_calls_backward(struct timeline *t, uint32_t site, uint32_t about);
/* Returns true if a thread of the autograd engine made the call, and the site is no user's line. */
bool timeline_lacks_line(struct timeline *t, uint32_t site, uint32_t about);

/* timeline_captured.c: completes the sites of the captured calls from `first_captured` on. The
 * works from `first_work` on are those of the same step. */
void timeline_lend_sites(struct timeline *t, uint32_t first_captured, uint32_t first_work);

/* timeline_products.c: adds a timeline_library for each launch of each product that was captured
 * into a graph. The arguments are those of timeline_lend_sites(), which comes first. */
void timeline_add_products(struct timeline *t, const struct model_step *m, uint32_t first_captured,
			   uint32_t first_work);

enum timeline_overhead_kind {
	OVERHEAD_PROFILER, /* CUPTI's own work */
	OVERHEAD_MODULE,   /* the driver loading or compiling code */
	OVERHEAD_QUEUE,	   /* the launch queue was full: the device was busy, not an overhead */
};
enum timeline_overhead_kind timeline_overhead_kind(uint16_t what);

/* timeline_wait.c: sets `wait` of each call of the step. The step's works must be in the timeline
 * already. */
void timeline_find_waits(struct timeline *t, const struct timeline_step *step);

#endif
