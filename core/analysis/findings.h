/*
 * What the analysis of one process found: the content of a report, before it is text or JSON (one to one with report.json). Times
 * are milliseconds per step, averaged over the recorded steps, unless a name says otherwise. Lists are sorted, largest first.
 * Texts belong to the timeline's frames, dict or texts, or to `texts` here.
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

/* Steps that are rare and far longer than the others (baseline.c), where they are a good part of the run. */
struct finding_slow {
	uint64_t n, n_of;		  /* how many, of how many; n 0: none, or no such part */
	double times;			  /* their mean, of the others' */
	double pct;			  /* of the time of all steps */
	double least_ms;		  /* from here on a step counts as one */
	uint64_t n_recorded, recorded[4]; /* how many, and the first ones' numbers */
};

struct finding_gpu {
	uint32_t device;
	double busy_pct, busy_ms, idle_ms, kernels;
	double before_ms; /* of busy_ms, with what was launched before the recorded steps */
	double late_ms; /* of the work that the steps launched, what ran when the last of them was over */
	double tensor_core_pct; /* of kernel time; -1: not known */
	double usual_busy_ms, usual_idle_ms,
		usual_kernels; /* of usual steps alone, where some were none (findings.n_usual) */
	uint64_t busy_ns, idle_ns,
		span_ns; /* over all recorded steps: busy + idle = span, exactly */
};

struct finding_idle {
	uint8_t cause;
	uint32_t device;
	uint32_t site; /* the line it lies on; 0: none */
	double ms, pct;
	double usual_ms; /* as finding_gpu's */
	uint64_t
		ns; /* over all recorded steps; the causes' sum is finding_gpu's idle_ns, to the nanosecond */
};

struct finding_sync {
	uint32_t site, stack; /* a stack that is typical of it */
	const struct frame *
		inner; /* the library's line, where the user's makes most calls; NULL: not told apart */
	const char *api;
	const char *
		op; /* the framework's operator that waits for reasons of its own; NULL: a library's, or none */
	uint8_t kind;
	bool is_from_device; /* SYNC_COPY: copies from the device took most of it */
	double per_step, blocked_ms, gpu_idle_ms;
	double recoverable_ms; /* by the replay: the wait gone */
	double line_ms; /* by the replay: the whole line gone, its kernels and host work too */
};

/* Arithmetic that libraries were asked for, as far as its amount is known. */
struct finding_arithmetic {
	double flops;	 /* per step */
	double tflops;	 /* of the GPU time that it took; 0: no GPU times */
	double peak_pct; /* of what the device can do; 0: not known */
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

/* Of the host lane that launches most; phases sum up to the step. Parts are some of it: what has no name of its own is not there. */
struct finding_phase {
	const char *name;
	double host_ms, gpu_ms;
	double usual_host_ms; /* as finding_gpu's */
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
	double backward_gpu_ms; /* of the backward pass that its forward one made necessary */
};

/* Of a class in a chain of classes. Times are of what the modules within it do, too. */
struct finding_module {
	const char *name; /* "Net.Block.Linear" */
	double per_step, host_ms, gpu_ms, backward_gpu_ms;
};

struct finding_copy {
	const char *kind, *memory; /* "HtoD"; "Pageable -> Device" */
	uint32_t site;
	double per_step, bytes, gb_per_s; /* bytes: per step */
	bool blocking;
};

/* Collectives and messages of one function, made by one line. */
struct finding_collective {
	const char *name;
	uint32_t site;
	uint32_t n_ranks;
	double per_step, bytes, gpu_ms; /* per step */
	double gb_per_s, bus_gb_per_s;	/* 0: no GPU times */
};

/* When this rank's part of a collective ran, for the other ranks' reports. */
struct finding_arrival {
	uint32_t row; /* in collectives */
	uint32_t sequence;
	uint64_t comm, begin_ns, end_ns;
	uint64_t gpu_ns; /* its part of that time: a group's members share it */
};

struct finding_block {
	uint32_t site;
	const char *what; /* where no line can be: static text, or NULL */
	double bytes;	  /* at the peak; leaks: per step */
};

/* Rules: block_summary.c, kind_of(). */
#define BLOCK_KINDS(X)                                                   \
	X(PARAMETER, "parameter") /* a module's, buffers included */     \
	X(GRADIENT, "gradient")	  /* of parameters: outlives backward */ \
	X(STATE, "optimizer state")                                      \
	X(ACTIVATION, "activation") /* of a forward pass: outlives it */ \
	X(INPUT, "input")                                                \
	X(TEMPORARY, "temporary") /* gone before its phase ends */       \
	X(WORKSPACE, "workspace") /* a library's */                      \
	X(REST, "other")

enum block_kind {
#define X(id, name) BLOCK_##id,
	BLOCK_KINDS(X)
#undef X
		BLOCK_KINDS_N
};

/* Blocks of one kind, or made in one phase. */
struct finding_blocks {
	const char *name;
	double bytes, peak_bytes; /* when most was allocated in all; when most of these was */
	double per_step;	  /* blocks made */
};

/* A framework's caching allocator, on the device where most was allocated. */
struct finding_allocator {
	bool is_known, is_recorded; /* something of it; something in recorded steps */
	uint32_t device;
	uint64_t peak_bytes, peak_reserved_bytes; /* in the whole run */
	uint64_t recorded_peak_bytes;		  /* in recorded steps: what the lists are of */
	uint64_t bytes, reserved_bytes;		  /* at the end */
	uint64_t n_out_of_memory;
};

/* Device memory that is more at the end of nearly every step. */
struct finding_growth {
	double bytes_per_step; /* 0: it does not grow */
	uint64_t device_bytes; /* of the one device that is used; 0: not known, or several are */
	double steps_left; /* from the run's end until it is full, if others take nothing; where device_bytes are known */
};

/* What the first steps paid once: module load, JIT, autotuning. Not in any per-step figure. */
struct finding_once {
	const char *what;
	uint32_t site;
	double ms;
};

struct finding_advice {
	char what[160], why[240];
	uint8_t cause; /* enum verdict: what it would be bound by, if this is most of it */
	uint32_t site;
	const struct frame
		*inner;	    /* the library's line under it that most of this is of; NULL: none */
	double expected_ms; /* per step, by the replay */
	double low_ms, high_ms; /* of single usual steps; high_ms 0: not known */
	double together_ms;	/* with all larger ones, of usual steps: no more than their sum */
	uint32_t first_change, n_changes; /* in the judge's list */
	uint32_t
		rare_steps; /* only so many of the recorded steps win, and expected_ms is the mean of all; 0: usual ones win */
};

struct finding_gap {
	char what[80], why[240];
};

enum { EVIDENCE_BYTES = 200 };

struct findings {
	struct timeline *timeline;
	/* steps; the caller knows them: all of the run's, recorded or not */
	struct finding_steps baseline; /* warm-up steps left out */
	struct finding_steps warm_up;
	struct finding_steps recorded;
	struct finding_slow slow;
	bool recorded_in_warm_up; /* all of them: what they show is no usual step */
	struct cost_found cost;	  /* of recording */
	/* what binds */
	uint8_t verdict;
	double confidence;
	VEC(struct { char text[EVIDENCE_BYTES]; }) evidence;
	/* summaries */
	VEC(struct finding_gpu) gpus;
	VEC(struct finding_idle) idle;
	VEC(struct finding_gpu_step) gpu_steps;
	VEC(struct finding_sync) syncs;
	VEC(struct finding_phase)
	phases; /* empty: they are not known, unavailable has the reason */
	VEC(struct finding_operator) operators;
	VEC(struct finding_kernel) kernels;
	VEC(struct finding_line) lines;
	VEC(struct finding_module) modules;
	double backward_gpu_ms, tied_gpu_ms; /* of autograd; of that, with a known line */
	VEC(struct finding_copy) copies;
	VEC(struct finding_collective) collectives;
	VEC(struct finding_arrival) arrivals;
	double n_gpu_steps; /* that GPU times are averaged over */
	VEC(struct finding_once) once;
	VEC(struct finding_block) at_peak, leaks;
	VEC(struct finding_blocks) by_kind, by_phase;
	struct finding_allocator allocator;
	struct finding_growth growth;
	uint64_t device_peak_bytes;
	double retries; /* per step */
	/* the replay */
	uint32_t n_usual, n_played; /* recorded steps; equal where all are usual ones */
	double measured_ms, replayed_ms, error_pct; /* measured_ms 0: nothing could be replayed */
	double recorded_ms;			    /* a usual one of the recorded steps */
	double step_ms; /* the same without what recording costs: gains are held against it */
	double mean_ms; /* measured_ms without it: what gains in few steps are held against */
	double disturbed_times; /* as long as steps beside them: all recorded ones; 1: they did not */
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
