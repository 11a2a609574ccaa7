/*
 * Results of the analysis of one process: the content of report.json. Times are milliseconds per
 * step, averaged over the recorded steps, unless a name says otherwise. Lists are sorted, largest
 * first. Texts are owned by the timeline's frames, tables or texts.
 */
#ifndef CORE_FINDINGS_H
#define CORE_FINDINGS_H

#include "core/analysis/idle_causes.h"
#include "core/analysis/idle_sums.h"
#include "core/analysis/timeline.h"
#include "core/model/cost.h"

#define VERDICTS(X)                 \
	X(GPU, "gpu")               \
	X(CPU, "cpu")               \
	X(INPUT, "input")           \
	X(SYNC, "sync")             \
	X(MEMORY, "memory")         \
	X(COPY, "copy")             \
	X(COLLECTIVE, "collective") \
	X(MIXED, "mixed")           \
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

struct finding_steps {
	uint64_t n;
	double mean, std, cv, min, p50, p95, p99, max; /* ms */
};

/* Rare steps that are far longer than the others (step_times.c), if they take a good part of the
 * run. */
struct finding_slow {
	uint64_t n, n_of;		  /* slow steps, of all steps; n is 0 if there are none */
	double times;			  /* their mean, as a multiple of the others' */
	double pct;			  /* share of the time of all steps */
	double least_ms;		  /* steps of at least this length are slow */
	uint64_t n_recorded, recorded[4]; /* count, and the numbers of the first ones */
};

struct finding_gpu {
	uint32_t device;
	double busy_pct, busy_ms, idle_ms, kernels;
	double before_ms; /* part of busy_ms: work launched before the recorded steps */
	double late_ms;	  /* work of the recorded steps that ran after the last of them ended */
	double tensor_core_pct; /* share of kernel time; -1: not known */
	/* Of typical steps alone; set if n_typical < n_played. */
	double typical_busy_ms, typical_idle_ms, typical_kernels;
	/* Over all recorded steps; busy + idle = span, exactly. */
	uint64_t busy_ns, idle_ns, span_ns;
};

struct finding_idle {
	uint8_t cause;
	uint32_t device;
	uint32_t site; /* the line with most of it; 0: none */
	double ms, pct;
	double typical_ms; /* typical steps, see finding_gpu */
	/* Over all recorded steps. The causes' sum is exactly finding_gpu's idle_ns. */
	uint64_t ns;
};

struct finding_sync {
	uint32_t site, stack; /* `stack`: of the longest wait */
	/* The library's line under a user's line that makes most calls; NULL: not distinguished. */
	const struct frame *inner;
	const char *api;
	/* The framework's operator that waits for internal reasons; NULL: another kind of wait. */
	const char *op;
	uint8_t kind;
	bool is_from_device; /* SYNC_COPY: most of the time went to copies from the device */
	double per_step, blocked_ms, gpu_idle_ms;
	double recoverable_ms; /* savings without the wait, by the replay */
	/* Savings without the whole line, its kernels and host work included, by the replay. */
	double line_ms;
};

/* Arithmetic done by library calls, as far as its amount is known. */
struct finding_arithmetic {
	double flops;	 /* per step */
	double tflops;	 /* rate over its GPU time; 0: no GPU times */
	double peak_pct; /* share of the device's peak; 0: not known */
};

struct finding_operator {
	const char *name;
	struct finding_arithmetic arithmetic;
	double per_step;
	double gpu_ms, host_ms; /* total: with the operators within it */
	double self_gpu_ms, self_host_ms;
};

struct finding_phase_part {
	const char *name;
	double host_ms, gpu_ms;
};

/* A phase. Host times are those of the lane that launches most; the phases add up to the step.
 * Parts without a name are left out. */
struct finding_phase {
	const char *name;
	double host_ms, gpu_ms;
	double typical_host_ms; /* typical steps, see finding_gpu */
	struct finding_phase_part parts[PHASE_PARTS_N];
	size_t n_parts;
};

struct finding_kernel {
	const char *name;
	struct finding_arithmetic arithmetic;
	double per_step, gpu_ms, pct;
	bool tensor_core;
};

struct finding_line {
	uint32_t site;
	struct finding_arithmetic arithmetic;
	double gpu_ms, host_ms, launches;
	double backward_gpu_ms; /* of the backward pass that belongs to it */
};

/* A chain of module classes. Times include the modules within it. */
struct finding_module {
	const char *name; /* "Net.Block.Linear" */
	double per_step, host_ms, gpu_ms, backward_gpu_ms;
};

struct finding_copy {
	const char *kind, *memory; /* "HtoD"; "Pageable -> Device" */
	uint32_t site;
	double per_step, bytes, gb_per_s; /* `bytes` is per step */
	bool blocking;
};

/* Collectives and messages of one function from one line. */
struct finding_collective {
	const char *name;
	uint32_t site;
	uint32_t n_ranks;
	double per_step, bytes, gpu_ms; /* per step */
	double gb_per_s, bus_gb_per_s;	/* 0: no GPU times */
};

/* When this rank's part of a collective ran; compared with other ranks' reports. */
struct finding_arrival {
	uint32_t row; /* in collectives */
	uint32_t sequence;
	uint64_t comm, begin_ns, end_ns;
	uint64_t gpu_ns; /* the members of a group share the time */
};

struct finding_block {
	uint32_t site;
	const char *what; /* for entries without a line: static text, or NULL */
	double bytes;	  /* at the peak; in `leaks`: per step */
};

/* Rules: kind_of() in block_kinds.c. */
#define BLOCK_KINDS(X)                                                       \
	X(PARAMETER, "parameter") /* of a module, buffers included */        \
	X(GRADIENT, "gradient")	  /* of a parameter: outlives backward */    \
	X(STATE, "optimizer state")                                          \
	X(ACTIVATION, "activation") /* of a forward pass that it outlives */ \
	X(INPUT, "input")                                                    \
	X(TEMPORARY, "temporary") /* freed within its phase */               \
	X(WORKSPACE, "workspace") /* of a library */                         \
	X(REST, "other")

enum block_kind {
#define X(id, name) BLOCK_##id,
	BLOCK_KINDS(X)
#undef X
		BLOCK_KINDS_N
};

/* Blocks of one kind, or allocated in one phase. */
struct finding_blocks {
	const char *name;
	double bytes, peak_bytes; /* at the peak of all blocks; at the peak of these */
	double per_step;	  /* blocks allocated */
};

/* A framework's caching allocator, on the device where most was allocated. */
struct finding_allocator {
	bool is_known, is_recorded; /* any data; data of recorded steps */
	uint32_t device;
	uint64_t peak_bytes, peak_reserved_bytes; /* of the whole run */
	uint64_t recorded_peak_bytes;		  /* of the recorded steps: the lists refer to it */
	uint64_t bytes, reserved_bytes;		  /* at the end */
	uint64_t n_out_of_memory;
};

/* Device memory that grows in nearly every step. */
struct finding_growth {
	double bytes_per_step; /* 0: does not grow */
	uint64_t device_bytes; /* of the only device used; 0: not known, or several are used */
	/* From the run's end until the device is full, if nothing else allocates; set with
	 * device_bytes. */
	double steps_left;
};

/* Startup costs of the first steps: module load, JIT, autotuning. Not in any per-step figure. */
struct finding_once {
	const char *what;
	uint32_t site;
	double ms;
};

struct finding_advice {
	char what[160], why[240];
	uint8_t cause; /* enum verdict: the verdict if this is the largest cause */
	uint32_t site;
	/* The library's line under it that most of this comes from; NULL: none. */
	const struct frame *inner;
	double expected_ms;	/* savings per step, by the replay */
	double low_ms, high_ms; /* range over single typical steps; high_ms 0: not known */
	/* combined with all larger ones, in typical steps; at most their sum */
	double together_ms;
	uint32_t first_change, n_changes; /* in the list of struct judge */
	/* The number of recorded steps that save time, if only a few do (expected_ms is the mean of
	 * all steps then); 0: typical steps save it. */
	uint32_t rare_steps;
};

struct finding_gap {
	char what[80], why[240];
};

enum { EVIDENCE_BYTES = 200 };

struct findings {
	struct timeline *timeline;
	/* steps of the whole run, recorded or not */
	struct finding_steps baseline; /* without warm-up steps */
	struct finding_steps warm_up;
	struct finding_steps recorded;
	struct finding_slow slow;
	bool recorded_in_warm_up; /* all recorded steps are warm-up steps, not typical ones */
	struct cost_found cost;	  /* recording overhead */
	/* the bottleneck */
	uint8_t verdict;
	double confidence;
	VEC(struct { char text[EVIDENCE_BYTES]; }) evidence;
	/* summaries */
	VEC(struct finding_gpu) gpus;
	VEC(struct finding_idle) idle;
	VEC(struct finding_gpu_step) gpu_steps;
	VEC(struct finding_sync) syncs;
	VEC(struct finding_phase)
	phases; /* empty: not known, `unavailable` has the reason */
	VEC(struct finding_operator) operators;
	VEC(struct finding_kernel) kernels;
	VEC(struct finding_line) lines;
	VEC(struct finding_module) modules;
	/* all backward time; the part with a known forward line */
	double backward_gpu_ms, tied_gpu_ms;
	VEC(struct finding_copy) copies;
	VEC(struct finding_collective) collectives;
	VEC(struct finding_arrival) arrivals;
	double n_gpu_steps; /* number of steps that GPU times are averaged over */
	VEC(struct finding_once) once;
	VEC(struct finding_block) at_peak, leaks;
	VEC(struct finding_blocks) by_kind, by_phase;
	struct finding_allocator allocator;
	struct finding_growth growth;
	uint64_t device_peak_bytes;
	double retries; /* per step */
	/* the replay */
	uint32_t n_typical, n_played;		    /* recorded steps; equal if all are typical */
	double measured_ms, replayed_ms, error_pct; /* measured_ms 0: no step could be replayed */
	double recorded_ms;			    /* a typical recorded step */
	double step_ms; /* the same without recording overhead: gains refer to it */
	/* measured_ms without recording overhead: gains that occur in few steps refer to it. */
	double mean_ms;
	/* Length of the recorded steps relative to their neighbours, if other load slowed all of
	 * them down; 1: undisturbed. */
	double disturbed_times;
	VEC(struct finding_advice) advice;
	VEC(struct finding_gap) unavailable;
};

void findings_free(struct findings *f);

/* Appends to `unavailable`: what the analysis cannot give, and why. */
__attribute__((format(printf, 3, 4))) void
findings_unavailable(struct findings *f, const char *what, const char *why, ...);

/* Recorded steps: what figures per step are divided by. */
struct step_counts {
	double all, with_gpu; /* never 0 */
};
struct step_counts findings_count_steps(const struct timeline *t);

#endif
