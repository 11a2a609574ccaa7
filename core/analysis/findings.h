/*
 * The results of the analysis of one process; the exporters write them to report.json. Times are in
 * milliseconds per step, averaged over the recorded steps, unless the name or the comment of a
 * field says otherwise. Most lists are sorted, largest first. Strings are static or owned by the
 * timeline (its `frames`, `tables` or `texts`).
 */
#ifndef CORE_FINDINGS_H
#define CORE_FINDINGS_H

#include "core/analysis/idle_causes.h"
#include "core/analysis/idle_sums.h"
#include "core/analysis/timeline.h"
#include "core/model/cost.h"
#include "core/util/sample.h"

#define VERDICTS(X)                 \
	X(GPU, "gpu")               \
	X(LAUNCH, "launch")         \
	X(HOST, "host")             \
	X(INPUT, "input")           \
	X(SYNC, "sync")             \
	X(MEMORY, "memory")         \
	X(COPY, "copy")             \
	X(COLLECTIVE, "collective") \
	X(UNCLEAR, "unclear")       \
	X(UNKNOWN, "unknown")

enum verdict {
#define X(id, name) VERDICT_##id,
	VERDICTS(X)
#undef X
		VERDICTS_N
};

#define SYNC_KINDS(X)           \
	X(ITEM, "item")         \
	X(EXPLICIT, "explicit") \
	X(COPY, "copy")         \
	X(EVENT, "event")       \
	X(ALLOC, "alloc")       \
	X(LIBRARY, "library")

enum sync_kind {
#define X(id, name) SYNC_##id,
	SYNC_KINDS(X)
#undef X
		SYNC_KINDS_N
};

/* The slow steps of a run: few steps that take far longer than the others. All zeros unless slow
 * steps take a large part of the run's time (step_times.c has the limits). */
struct finding_slow {
	uint64_t n, n_of; /* number of slow steps, 0: none; number of all steps without warm-up */
	double times;	  /* mean length of a slow step / mean length of the other steps */
	double pct;	  /* percentage of the time of all steps that slow steps take */
	double least_ms;  /* length of the shortest slow step */
	double other_most_ms; /* length of the longest other step */
	/* Number of recorded slow steps, and the step numbers of the first four of them. */
	uint64_t n_recorded, recorded[4];
	uint64_t n_of_load; /* recorded slow steps that are slow because they waited for a CPU */
};

/* A slow step (struct finding_slow). */
struct finding_pause {
	uint64_t number; /* of the step */
	double ms;
	/* If the step was recorded: the line of its longest call, or of the call after its longest
	 * gap between calls. 0: not recorded, or not known. */
	uint32_t site;
	bool is_gap; /* the step spent its longest time before a call at `site` */
	/* If that time was sampled, `site` is the sampled line, and `cause` (enum idle_cause) is
	 * what the CPU did there. */
	bool is_sampled;
	uint8_t cause;
	bool is_of_load; /* the step is slow because it waited for a CPU */
};

/* How the length of steps changes during the run. Zeros: it does not. */
struct finding_drift {
	double first_ms, last_ms; /* medians of the first and of the last fifth of the steps */
};

/* If the CPU runs ahead of the GPU and waits for it in few steps only, the number of recorded steps
 * that are long for that reason, and of all. The GPU's time for a step is then the mean length.
 * Zeros: it does not. */
struct finding_catch_up {
	uint64_t n, n_of;
};

struct finding_gpu {
	uint32_t device;
	double busy_pct, busy_ms, idle_ms, kernels;
	/* The part of busy_ms in which the device ran work launched before the recorded steps. */
	double before_ms;
	/* GPU time of work that recorded steps launched, but that ran after their window had ended.
	 * Not part of busy_ms. */
	double late_ms;
	/* Percentage of the kernel time spent in kernels that use tensor cores; -1: not known. */
	double tensor_core_pct;
	/* Percentage of the communication during which the device also computed; -1: there was no
	 * communication. */
	double hidden_pct;
	/* The share of the steps' time and of the multiprocessors in which blocks ran, and the mean
	 * occupancy of kernels weighted by time, as far as launches tell; NAN: not known. */
	double sm_pct, occupancy_pct;
	/*
	 * Means over the typical steps only: those that take at most 1.5 times the median
	 * (core/whatif/whatif_steps.c). Set only if some recorded steps are not typical
	 * (findings.n_typical < n_played).
	 */
	double typical_busy_ms, typical_idle_ms, typical_kernels;
	/* Sums over all recorded steps. busy_ns + idle_ns is exactly span_ns, the length of the
	 * steps. */
	uint64_t busy_ns, idle_ns, span_ns;
};

/* Time in which a device did the same things. */
struct finding_use {
	uint32_t device;
	uint8_t bits;	/* what it did, see finding_use_name() */
	double ms, pct; /* pct: of the steps */
};

struct finding_idle {
	uint8_t cause;
	uint32_t device;
	uint32_t site;	      /* the line that causes most of this idle time; 0: none */
	uint32_t before_site; /* as in struct idle_span */
	double ms, pct;
	double typical_ms; /* mean over the typical steps only, see finding_gpu */
	/* Sum over all recorded steps. The sum over all causes of a device is exactly the idle_ns
	 * of its finding_gpu. */
	uint64_t ns;
};

struct finding_sync {
	uint32_t site, stack; /* `stack`: the DICT_STACK of the longest wait */
	/* The library's line that was called from `site` and waits. Set only if `site` makes most
	 * of the program's launches (inner_line.h); else NULL. */
	const struct frame *inner;
	const char *api;
	/* The framework operator that synchronizes internally; NULL: something else waits. */
	const char *op;
	uint8_t kind;
	/* For SYNC_COPY: most of the blocked time was spent in copies from the device. */
	bool is_from_device;
	double per_step, blocked_ms, gpu_idle_ms;
	double recoverable_ms; /* estimated savings if the wait is removed */
	/* Estimated savings if the whole line is removed, with its kernels and its host work. */
	double line_ms;
};

/* The arithmetic of library calls whose number of operations is known. */
struct finding_arithmetic {
	double flops;	 /* per step */
	double tflops;	 /* flops / GPU time of these calls; 0: no GPU times */
	double peak_pct; /* percentage of the device's peak rate; 0: not known */
};

struct finding_operator {
	const char *name;
	struct finding_arithmetic arithmetic;
	double per_step;
	double gpu_ms, host_ms; /* total time, including the operators called within this one */
	double self_gpu_ms, self_host_ms;
	double graph_gpu_ms; /* the part of self_gpu_ms that CUDA graphs ran */
};

/* A CUDA function. */
struct finding_call {
	const char *name;
	double per_step, host_ms; /* host_ms: from begin to end of its calls, waits included */
};

/* The launches by one CUDA function, those whose GPU work is known. */
struct finding_launches {
	const char *name;
	double per_step;
	/* Microseconds: of the call; from its end to the begin of the work, at least 0. */
	struct sample_summary call_us, delay_us;
	double short_pct; /* share of the launches whose work took less time than the call */
};

/* The launches that waited in a stream, from the call's begin to that of the work. */
struct finding_queue {
	uint32_t device, stream;
	/* `mean`: over time, from the first launch to the begin of the last work; `most`: the
	 * longest queue; `wait_us`: mean of the launches */
	double per_step, mean, most, wait_us;
};

/* The runs of an operator that launched GPU work themselves. */
struct finding_delay {
	const char *name;
	double per_step;
	/* Means of the times in struct operator_delay; to_launch_us NAN: not known. */
	double to_launch_us, launch_to_work_us;
};

/* The runs of an operator that launched the same GPU work in the same order. */
struct finding_sequence {
	const char *operator;
	uint32_t first_work, n; /* as in struct operator_sequence */
	double per_step, gpu_ms, host_ms;
};

/* The critical path by kind of link. `kind`: as in core/whatif/critical.h. `pct`: of the path. */
struct finding_critical_kind {
	const char *kind;
	double ms, pct; /* ms: per step */
};

/* Links of the critical path of one kind that are about the same. */
struct finding_critical {
	const char *kind;
	/* The kernel or copy, of delays the delayed one; the function of a call; for CPU code what
	 * samples show, "" if they show nothing. */
	const char *name;
	uint32_t site, op;	  /* 0: unknown; `op` as in struct timeline_call */
	double per_step, ms, pct; /* per_step: number of links */
};

struct finding_phase_part {
	const char *name;
	double host_ms, gpu_ms;
	double graph_gpu_ms; /* the part of gpu_ms that CUDA graphs ran */
};

/* A phase of the step. Host times are those of the lane with the most launches, so the host times
 * of all phases add up to the step time. `parts` has only parts with a name. */
struct finding_phase {
	const char *name;
	double host_ms, gpu_ms;
	double graph_gpu_ms;
	double typical_host_ms; /* mean over the typical steps only, see finding_gpu */
	struct finding_phase_part parts[PHASE_PARTS_N];
	size_t n_parts;
};

struct finding_kernel {
	const char *name;
	struct finding_arithmetic arithmetic;
	double per_step, gpu_ms, pct;
	double graph_gpu_ms;  /* the part of gpu_ms that CUDA graphs ran */
	double occupancy_pct; /* as in struct finding_gpu, of the runs for which it is known */
	bool tensor_core;
};

struct finding_line {
	uint32_t site;
	/* The innermost chain of module classes (finding_module.name) that contains all launches of
	 * the line, without those of autograd's threads; "": not all are in a module. */
	const char *module;
	struct finding_arithmetic arithmetic;
	double gpu_ms, host_ms, launches;
	/* The part of gpu_ms that CUDA graphs ran. This line made the calls that were captured. */
	double graph_gpu_ms;
	double backward_gpu_ms; /* GPU time of the backward calls caused by this line */
};

/* A chain of nested module classes. Times include the modules called within the innermost one. */
struct finding_module {
	const char *name; /* "Net.Block.Linear" */
	double per_step, host_ms, gpu_ms, backward_gpu_ms;
	double graph_gpu_ms; /* the part of gpu_ms and backward_gpu_ms that CUDA graphs ran */
};

/* An executable CUDA graph. Times are per launch. */
struct finding_graph {
	uint32_t graph; /* CUPTI's id */
	/* The line that captured it: the innermost line that all captured calls have in their
	 * stacks or, if these are several lines of one function, the first of them. NULL: not
	 * known. */
	const struct frame *captured;
	const char *module;   /* the chain of modules that contains all captured calls; "": none */
	uint32_t launch_site; /* the line that launched it most often; 0: unknown */
	double per_step;      /* launches per step */
	uint32_t nodes;	      /* most kernels, copies and memsets of a launch */
	double gpu_ms, idle_ms; /* a node ran; the GPU ran none between the first and the last */
	uint32_t n_steps;	/* number of recorded steps that launched it */
	double step_ms;		/* median length of these steps */
	/* If a step launches it several times: median time from the start of one launch's work to
	 * that of the next in the same step. 0: no step does. */
	double interval_ms;
};

/* The recorded steps that launched the same graphs, each once or several times. */
struct finding_graph_steps {
	size_t first_graph, n_graphs; /* in step_graphs; none: the steps launched no graph */
	uint32_t n_steps;
	uint32_t least, most; /* launches of graphs in one of these steps */
	double step_ms;	      /* median */
};

/* CPU time between CUDA calls, by the line and function that was sampled (summary_between.c). */
struct finding_host {
	const char *file, *function; /* "": unknown */
	uint32_t line;
	uint8_t kind; /* enum host_kind */
	/* self: the line itself was being executed; total: also functions that it called */
	double self_ms, total_ms;
	/* the time for which this is the user's innermost line: self_ms, and calls of libraries */
	double user_ms;
	uint64_t samples; /* those of total_ms */
	/* the function of a library that the line called, in most of self_ms; "": none */
	const char *native_function, *native_library;
	/* if the line is unknown: the sites of the CUDA calls before and after; 0: unknown */
	uint32_t after, before;
};

struct finding_copy {
	const char *kind, *memory; /* "HtoD"; "Pageable -> Device" */
	uint32_t site;
	double per_step, bytes, gb_per_s; /* `bytes` is per step */
	bool blocking;
};

/* The arithmetic of an operator with inputs of one shape and type. Per step, of the runs with GPU
 * times. */
struct finding_shape {
	const char *name, *shape, *type;
	double per_step, gpu_ms;
	double flops, flops_most; /* from, to: equal if the inputs tell it */
	double bytes;		  /* of the inputs and outputs */
	/* What limits it at the device's peaks, arithmetic or memory, and the time that this takes,
	 * in % of its time; 0: the peaks are not known. */
	double roofline_pct;
	bool is_memory_bound;
};

/* The collectives and point-to-point messages that one line makes with one function. */
struct finding_collective {
	const char *name;
	uint32_t site;
	uint32_t n_ranks;
	double per_step, bytes, gpu_ms; /* `bytes` and `gpu_ms`: per step */
	double gb_per_s, bus_gb_per_s;	/* 0: no GPU times; bus bandwidth as in nccl-tests */
};

/* When this rank's part of one collective ran on the GPU. The reports of all ranks are compared to
 * find out which rank arrived late. */
struct finding_arrival {
	uint32_t row; /* index in `collectives` */
	uint32_t sequence;
	uint64_t comm, begin_ns, end_ns;
	uint64_t gpu_ns; /* GPU time; of an NCCL group only this collective's share */
};

struct finding_block {
	uint32_t site;
	const char *what; /* description of an entry without a line (static); else NULL */
	double bytes;	  /* held at the peak; in `leaks`: growth per step */
};

/* What a block is used for. kind_of() in block_kinds.c has the rules. */
#define BLOCK_KINDS(X)                                                                     \
	X(PARAMETER, "parameter") /* a module's parameter or buffer */                     \
	X(GRADIENT, "gradient")	  /* of a parameter; lives on after the backward pass */   \
	X(STATE, "optimizer state")                                                        \
	X(ACTIVATION, "activation") /* made by a forward pass, lives on after that pass */ \
	X(INPUT, "input")                                                                  \
	X(TEMPORARY, "temporary") /* freed in the phase that allocated it */               \
	X(WORKSPACE, "workspace") /* scratch memory of a library */                        \
	X(REST, "other")

enum block_kind {
#define X(id, name) BLOCK_##id,
	BLOCK_KINDS(X)
#undef X
		BLOCK_KINDS_N
};

/* All blocks of one kind, or all blocks allocated in one phase. */
struct finding_blocks {
	const char *name;
	/* Held at the peak of all blocks together, and at the peak of the blocks of this row. */
	double bytes, peak_bytes;
	double per_step; /* number of blocks allocated per step */
};

/* A framework's caching allocator. The bytes are those of the device with the highest peak. */
struct finding_allocator {
	bool is_known, is_recorded; /* has data at all; has data of recorded steps */
	uint32_t device;
	uint64_t peak_bytes, peak_reserved_bytes; /* peaks of the whole run */
	/* Peak of the recorded steps. The lists of blocks by line, kind and phase refer to this
	 * peak. */
	uint64_t recorded_peak_bytes;
	uint64_t bytes, reserved_bytes; /* at the end of the run */
	uint64_t n_out_of_memory;
};

/* Growth of the device memory in use, if it grows again and again (memory_growth_is_leak()). */
struct finding_growth {
	double bytes_per_step; /* 0: memory does not grow */
	/* Total memory of the device; 0: not known, or the run uses several devices. */
	uint64_t device_bytes;
	/* Steps after the run's end until the device would be full if nothing else allocates. Set
	 * only if device_bytes is. */
	double steps_left;
};

/* A CUDA call, or an allocation of a framework, that failed in the last step. */
struct finding_failure {
	const char *api;   /* the CUDA function */
	uint16_t status;   /* its result code; 0: nothing failed */
	uint32_t site;	   /* 0: unknown */
	double bytes;	   /* of an allocation; else 0 */
	double held_bytes; /* device memory held then; if memory ran out, `at_peak` has the lines */
	uint64_t device_bytes; /* all memory of the device; 0: not known */
	uint64_t step;	       /* number of steps that had ended */
};

/* The last CUDA call. */
struct finding_last_call {
	const char *api; /* the CUDA function; NULL: the last calls were not recorded */
	uint32_t site;	 /* 0: unknown */
};

/* A startup cost of the first steps, such as module load, JIT compilation or autotuning. Startup
 * costs are in no per-step figure. */
struct finding_once {
	const char *what;
	uint32_t site;
	double ms;
};

/* What the speed-up of one resource saves (core/verdict/judge_resources.c). */
struct finding_saving {
	uint8_t resource;	/* enum verdict */
	double ms;		/* savings of a typical step */
	double low_ms, high_ms; /* 95 % interval */
};

struct finding_advice {
	char what[160], why[480];
	/* enum verdict: the bottleneck that this advice addresses. */
	uint8_t cause;
	uint32_t site;
	/* The library's line, called from `site`, that causes more than half of the savings; NULL:
	 * no such line, or `site` does not make most launches (inner_line.h). */
	const struct frame *inner;
	double expected_ms;	/* estimated savings per step */
	double low_ms, high_ms; /* range over typical steps; high_ms 0: not known */
	/* 95 % interval of expected_ms (core/verdict/resample.h) */
	double interval_low_ms, interval_high_ms;
	/* Combined savings per typical step if this advice and all advice with larger savings is
	 * followed. At most the sum of the single savings. */
	double together_ms;
	uint32_t first_change, n_changes; /* in judge.advised */
	/* If only few recorded steps save time: the number of these steps. expected_ms is then the
	 * mean over all recorded steps. 0: typical steps save time. */
	uint32_t rare_steps;
};

struct finding_gap {
	char what[80], why[240];
};

enum { EVIDENCE_BYTES = 200 };

struct findings {
	struct timeline *timeline;
	/* Step times of all steps of the run. Only `recorded` is limited to recorded steps. */
	struct sample_summary baseline; /* all steps after the warm-up */
	/* Half the width of the 95 % interval of the baseline's median. 0: not known. */
	double median_error_ms;
	struct sample_summary warm_up;
	struct sample_summary recorded;
	/* Lengths in milliseconds of steps after the warm-up, in order: of all of them or, if there
	 * are many, of a random sample (step_lengths.h). */
	VEC(float) lengths;
	struct finding_slow slow;
	VEC(struct finding_pause) pauses; /* the longest slow steps, longest first */
	struct finding_drift drift;
	struct finding_catch_up catch_up;
	/* Launches and copies of a recorded step / those of the median step of the run; 0: not
	 * known. Both are medians. */
	double work_times;
	/* All recorded steps are warm-up steps, so they are not typical of the run. */
	bool recorded_in_warm_up;
	uint64_t n_recorded_warm_up; /* steps of the timeline that belong to the warm-up */
	struct cost_found cost;	     /* how much recording slows a step */
	/* the bottleneck */
	uint8_t verdict;
	VEC(uint8_t) between; /* VERDICT_UNCLEAR: the verdicts that it could be, else empty */
	double confidence;
	/* The verdict and `savings` refer to all recorded steps, because those that are not typical
	 * take most of the time, or because what would save most in typical steps would save little
	 * of the whole time. Else they refer to typical steps. */
	bool is_of_all;
	uint8_t typical_verdict; /* is_of_all: what would save most in typical steps */
	/* VERDICT_INPUT: how the program gets its batches, "loader" or "queue", as samples show;
	 * else "". Static. */
	const char *input_source;
	VEC(struct finding_saving) savings; /* of each resource, largest first */
	VEC(struct { char text[EVIDENCE_BYTES]; }) evidence;
	/* summaries */
	VEC(struct finding_gpu) gpus;
	VEC(struct finding_use) use; /* of each device, the largest first */
	VEC(struct finding_idle) idle;
	VEC(struct finding_gpu_step) gpu_steps;
	VEC(struct finding_sync) syncs;
	/* if empty, `unavailable` says why, except for programs without Python and PyTorch */
	VEC(struct finding_phase) phases;
	VEC(struct finding_operator) operators;
	VEC(struct finding_call) calls;
	VEC(struct finding_launches) launches; /* the most frequent first, as `queues` */
	VEC(struct finding_queue) queues;
	VEC(struct finding_delay) delays;	/* the most frequent first */
	VEC(struct finding_sequence) sequences; /* the longest GPU time first */
	VEC(struct finding_kernel) kernels;
	VEC(struct finding_graph) graphs;
	VEC(struct finding_graph_steps) graph_steps; /* the most frequent first */
	VEC(uint32_t) step_graphs;		     /* as in finding_graph.graph, ascending */
	VEC(struct finding_line) lines;
	VEC(struct finding_module) modules;
	/* GPU time of the backward pass: all of it, and the part whose forward line is known */
	double backward_gpu_ms, tied_gpu_ms;
	VEC(struct finding_host) host;
	double between_ms;	 /* CPU time between calls; 0: no samples */
	uint64_t n_host_samples; /* samples that it was divided by */
	/* line of another thread that had Python's GIL in most samples of threads that waited for
	 * it; 0: none, or not known */
	uint32_t gil_holder;
	VEC(struct finding_copy) copies;
	VEC(struct finding_shape) shapes; /* the longest GPU time first */
	VEC(struct finding_collective) collectives;
	VEC(struct finding_arrival) arrivals;
	double n_gpu_steps; /* number of recorded steps with GPU times, at least 1 */
	VEC(struct finding_once) once;
	VEC(struct finding_block) at_peak, leaks;
	VEC(struct finding_blocks) by_kind, by_phase;
	struct finding_allocator allocator;
	struct finding_growth growth;
	struct finding_failure failure;
	struct finding_last_call last_call;
	/* `at_peak` is the moment of the failure */
	bool is_peak_of_failure;
	uint64_t device_peak_bytes;
	double retries; /* allocations per step that succeeded only after memory was freed */
	/* results of the replay */
	VEC(struct finding_critical_kind) critical_kinds; /* the longest first, as `critical` */
	VEC(struct finding_critical) critical;
	/* Numbers of typical steps and of all steps among those that were played; equal if all are
	 * typical. */
	uint32_t n_typical, n_played;
	/* The part of the played steps' time, without contention_ms, that the other steps take. */
	double left_out_share;
	/* Mean length of the played steps, as measured and in an unchanged replay, and the
	 * difference in percent. measured_ms is 0 if no step could be played. */
	double measured_ms, replayed_ms, error_pct;
	double recorded_ms; /* length of a typical step as recorded, without contention_ms */
	double step_ms;	    /* recorded_ms without recording overhead: the base of savings */
	/* measured_ms without recording overhead: the base of savings that occur in few steps. */
	double mean_ms;
	/* Part of measured_ms that the launching threads lost because they waited for a CPU. The
	 * other lengths are without it. */
	double contention_ms;
	/* If other load on the machine slowed all recorded steps down: their length / the length of
	 * the steps around them. Else 1. */
	double disturbed_times;
	VEC(struct finding_advice) advice;
	VEC(struct finding_gap) unavailable;
};

/* Frees the lists. The timeline belongs to the caller. */
void findings_free(struct findings *f);

/* Appends a row to `unavailable`. `what` names the result that is missing or uncertain; `why`, a
 * printf format, gives the reason. */
__attribute__((format(printf, 3, 4))) void
findings_unavailable(struct findings *f, const char *what, const char *why, ...);

/* Writes what a device did, such as "computation + copies". Returns `to`. */
const char *finding_use_name(char *to, size_t bytes, uint8_t bits);

/* Numbers of recorded steps by which sums are divided to get figures per step: all steps, and those
 * with GPU times. Both are at least 1. */
struct step_counts {
	double all, with_gpu;
};
struct step_counts findings_count_steps(const struct timeline *t);

#endif
