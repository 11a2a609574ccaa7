/*
 * The report of a run as structs. report.json has the same content (docs/report.md). report_fill.c
 * fills in a process's part from the results of the analysis. report_json.c writes and reads
 * report.json. report_text.c and report_pages.c print the report as text. Members with _ms are
 * milliseconds, in most structs per step. Values that are not known: numbers are NAN, integers -1,
 * texts "", pointers NULL (fields.h).
 */
#ifndef EXPORT_REPORT_H
#define EXPORT_REPORT_H

#include "export/process_facts.h"

struct report_place {
	const char *file;
	int64_t line;
	const char *function;
};

struct report_slow_steps {
	int64_t n, of; /* n slow steps of `of` steps */
	double times, time_pct, least_ms,
		other_most_ms; /* as in struct finding_slow (core/analysis/findings.h) */
	int64_t n_recorded, n_of_load;
	LIST(int64_t) recorded; /* numbers of the first recorded slow steps */
};

struct report_pause {
	int64_t step;
	double ms;
	bool is_gap;	   /* as in struct finding_pause */
	const char *cause; /* name of what the CPU did (idle_causes.def); "": not sampled */
	struct report_place place;
};

struct report_drift {
	double first_ms, last_ms;
};

struct report_catch_up {
	int64_t n, of; /* as in struct finding_catch_up */
};

struct report_baseline {
	struct sample_summary *step_ms, *warm_up_ms, *recorded_ms;
	LIST(int64_t) lengths_ns; /* of steps after the warm-up, as in struct findings */
	struct report_slow_steps *slow_steps;
	LIST(struct report_pause) pauses;
	struct report_drift *drift;
	struct report_catch_up *catch_up;
	double work_times; /* as in struct findings */
	bool recorded_in_warm_up;
	int64_t recorded_warm_up_steps; /* of the steps that the report is about */
};

struct report_saving {
	const char *resource;
	double ms;
	struct field_range interval_ms;
};

/* The advice with the largest savings among those that remove a stall of the GPU. */
struct report_stall {
	const char *cause, *where;
	double ms;
	struct field_range interval_ms;
	struct report_place place;
};

struct report_bound {
	const char *verdict;
	LIST(const char *) between;
	double confidence;
	const char *input_source;
	bool is_of_all; /* as in struct findings */
	struct report_place *gil_holder;
	const char *typical_verdict;
	LIST(const char *) evidence;
	LIST(struct report_saving) savings;
	struct report_stall *stall;
	int64_t typical_steps, steps;
	/* the part of the recorded steps' time, without contention, in steps that are not typical;
	 * NAN: unknown */
	double left_out_pct;
};

/* Members typical_... cover typical steps only. They are known if some recorded steps are not
 * typical. */
struct report_gpu {
	int64_t device;
	double busy_pct, busy_ms, idle_ms, late_ms, kernels, tensor_core_pct;
	double hidden_communication_pct, sm_efficiency_pct, occupancy_pct;
	double typical_busy_ms, typical_idle_ms, typical_kernels;
};

/* As struct finding_use. */
struct report_use {
	int64_t device;
	const char *what;
	double ms, pct;
};

struct report_idle {
	const char *cause, *where;
	int64_t device;
	double ms, pct, typical_ms;
	struct report_place place;
	struct report_place *after; /* inside a graph: what captured the work before the gap */
};

struct report_frame {
	struct report_place place;
	const char *module;
	bool is_library;
};

struct report_sync {
	struct report_place place;
	const char *source, *api, *kind;
	double per_step, blocked_ms, gpu_idle_ms, recoverable_ms, line_ms;
	struct report_place *inner; /* next frame below the user's line in the stack: a line of a
				     * library */
	/* `place` is a library's line; the user's line that started the library's loop */
	struct report_place *called_from;
	LIST(struct report_frame) stack;
};

struct report_phase_part {
	const char *name;
	double host_ms, gpu_ms;
	double graph_gpu_ms; /* as in core/analysis/findings.h, also in the structs below */
};

struct report_phase {
	const char *name;
	double host_ms, gpu_ms, graph_gpu_ms, typical_host_ms;
	LIST(struct report_phase_part) parts;
};

struct report_arithmetic {
	double flops, tflops, peak_pct;
};

struct report_operator {
	const char *name;
	double per_step;
	double gpu_ms, host_ms; /* total time: includes the operators within this one */
	double self_gpu_ms, self_host_ms;
	double graph_gpu_ms;
	struct report_arithmetic arithmetic;
};

/* As struct finding_call. */
struct report_call {
	const char *name;
	double per_step, host_ms;
};

/* As struct finding_launches. */
struct report_launches {
	const char *name;
	double per_step, short_pct;
	struct sample_summary call_us, delay_us;
};

/* As struct finding_delay. `to_work_us`: from the begin of the operator to that of its work. */
struct report_delay {
	const char *name;
	double per_step, to_launch_us, launch_to_work_us, to_work_us;
};

/* As struct finding_sequence. */
struct report_sequence {
	const char *name;
	int64_t n_kernels;	    /* and copies and memsets */
	LIST(const char *) kernels; /* the first of them */
	double per_step, gpu_ms, host_ms;
};

/* As struct finding_critical_kind. `what`: the kind in words. */
struct report_critical_kind {
	const char *kind, *what;
	double ms, pct;
};

/* As struct finding_critical. */
struct report_critical {
	const char *kind, *what, *name, *op;
	struct report_place place;
	double per_step, ms, pct;
};

/* As struct finding_queue. */
struct report_queue {
	int64_t device, stream;
	double per_step, mean, most, wait_us;
};

struct report_kernel {
	const char *name;
	double per_step, gpu_ms, graph_gpu_ms, pct, occupancy_pct;
	bool tensor_core;
	struct report_arithmetic arithmetic;
};

/* As struct finding_graph. */
struct report_graph {
	int64_t graph, nodes, steps;
	double per_step, gpu_ms, idle_ms, step_ms;
	const char *module;
	struct report_place place; /* that captured it */
	struct report_place *launched_from;
	double interval_ms;
};

/* As struct finding_graph_steps. */
struct report_graph_steps {
	int64_t steps, least, most;
	double step_ms;
	LIST(int64_t) graphs;
};

struct report_line {
	struct report_place place;
	const char *source, *module;
	struct report_place *called_from; /* as in struct report_sync */
	double gpu_ms, graph_gpu_ms, host_ms, backward_gpu_ms, launches;
	struct report_arithmetic arithmetic;
};

struct report_host {
	struct report_place place;
	const char *source, *kind;
	double self_ms, total_ms, user_ms;
	int64_t samples;
	/* a library's function that the line called, and the library's file; "": none */
	const char *native_function, *native_library;
	/* if no line is known: those of the CUDA calls before and after; NULL: unknown */
	struct report_place *after, *before;
};

struct report_module {
	const char *name;
	double per_step, gpu_ms, backward_gpu_ms, graph_gpu_ms, host_ms;
};

/* GPU time of backward passes: all of it, and the part that belongs to a known forward line. */
struct report_backward {
	double gpu_ms, tied_gpu_ms;
};

struct report_copy {
	const char *kind, *memory;
	double per_step, bytes, gb_per_s;
	bool blocking;
	struct report_place place;
};

/* An operator with inputs of one shape and type. */
struct report_shape {
	const char *name, *shape, *type;
	double per_step, gpu_ms, flops, flops_most, bytes; /* per step */
	double tflops, gb_per_s, roofline_pct;
	const char *bound; /* "compute", "memory"; "": not known */
};

struct report_collective {
	const char *name;
	int64_t ranks;
	double per_step, bytes, gpu_ms, gb_per_s, bus_gb_per_s;
	double bus_gb_per_s_moving, wait_ms; /* known after report_meetings_join() */
	int64_t last_rank;
	struct report_place place;
	const char *source;
};

struct report_block {
	struct report_place place;
	const char *what; /* what the memory is, if no line allocated it; else "" */
	double bytes;
};

struct report_blocks {
	const char *name; /* a kind or a phase */
	double bytes, peak_bytes, per_step;
};

struct report_growth {
	double bytes_per_step, steps_left;
	int64_t device_bytes;
};

struct report_allocator {
	const char *name;
	int64_t device, peak_bytes, peak_reserved_bytes, bytes, reserved_bytes, out_of_memory,
		recorded_peak_bytes;
	double unused_pct;
};

struct report_memory {
	int64_t device_peak_bytes;
	LIST(struct report_block) at_peak, leaks;
	double retries;
	struct report_growth *growth;
	struct report_allocator *allocator;
	LIST(struct report_blocks) by_kind, by_phase;
};

/* A CUDA call that failed in the last step. */
struct report_failure {
	const char *api;
	int64_t status; /* its result code */
	double bytes;	/* of an allocation; NAN: it was another call */
	double held_bytes;
	int64_t device_bytes, step;
	struct report_place place;
};

struct report_last_call {
	const char *api;
	struct report_place place;
};

struct report_once {
	const char *what;
	double ms;
	struct report_place place;
};

struct report_replay {
	double measured_ms, replayed_ms, error_pct, recorded_ms, step_ms, mean_ms, disturbed_times;
	double contention_ms;
};

struct report_advice {
	const char *what, *where, *why, *cause;
	double expected_ms, together_ms;
	struct field_range range_ms, interval_ms;
	int64_t rare_steps;
	struct report_place place;
	const char *source;
	struct report_place *inner, *called_from;
};

struct report_cupti {
	const char *state, *reason;
	double own_ms;
};

struct report_self {
	double ns_per_call;
	struct facts_overhead overhead;
	int64_t dropped;
	struct facts_losses losses;
	struct report_cupti cupti;
};

struct report_gap {
	const char *what, *why;
};

/* How a rank waits in collectives, from the comparison with other ranks (report_meetings.h). */
struct report_waits {
	double wait_ms;	 /* it waits for others */
	double late_ms;	 /* the others wait for it, on average */
	double last_pct; /* of its collectives with other ranks: others waited for it alone */
};

/* When this rank's part of a collective ran. Not in report.json. */
struct report_arrival {
	uint64_t comm, begin_ns, end_ns, gpu_ns;
	uint32_t row, sequence; /* row: index in `collectives` */
};

struct report_process {
	struct process_facts facts;
	bool is_silent; /* the process launched no GPU work */
	int64_t rank;
	struct report_baseline baseline;
	struct report_bound bound;
	LIST(struct report_gpu) gpu;
	LIST(struct report_use) use;
	LIST(struct report_idle) idle;
	LIST(struct report_sync) syncs;
	LIST(struct report_critical_kind) critical_kinds;
	LIST(struct report_critical) critical;
	LIST(struct report_operator) operators;
	LIST(struct report_call) calls;
	LIST(struct report_launches) launches;
	LIST(struct report_queue) queues;
	LIST(struct report_delay) delays;
	LIST(struct report_sequence) sequences;
	LIST(struct report_kernel) kernels;
	LIST(struct report_graph) graphs;
	LIST(struct report_graph_steps) graph_steps;
	LIST(struct report_line) lines;
	LIST(struct report_host) host;
	const char *
		native_host_stacks; /* which were available, and why others were not; "": unknown */
	LIST(struct report_copy) copies;
	LIST(struct report_shape) shapes;
	LIST(struct report_collective) collectives;
	struct report_waits waits; /* NAN: no other rank was compared */
	struct report_memory memory;
	LIST(struct report_once) once;
	struct report_failure *failure;
	struct report_last_call *last_call; /* NULL: the last calls were not recorded */
	struct report_replay *replay;
	LIST(struct report_advice) advice;
	LIST(struct report_module) modules;
	struct report_backward backward;
	LIST(struct report_phase) phases;
	struct report_self self;
	LIST(struct report_gap) unavailable;
	LIST(struct report_arrival) arrivals;
	double n_gpu_steps; /* number of recorded steps that the arrivals cover */
	json_t *views;	    /* owned; see views.h. Not in report.json. NULL: not available */
	struct arena arena; /* owns all texts and lists of the process */
	unsigned n_holders; /* the last holder's report_process_drop() frees the struct */
};

enum { REPORT_PHASES = 5 };
extern const char *const report_phase_names[REPORT_PHASES];

/* One rank's figures, for the comparison with other ranks. */
struct report_rank {
	int64_t rank, pid;
	double step_ms, p95_ms, gpu_busy_pct, collective_ms;
	const char *verdict;
	double phase_ms[REPORT_PHASES];
	/* Of its first device: computation alone, computation and communication at once,
	 * communication alone, the rest of the step. */
	double computation_ms, overlap_ms, communication_ms, rest_ms;
	struct report_waits waits; /* NAN: not known */
};

/* The rank that the other ranks wait for. */
struct report_straggler {
	int64_t rank;
	double ms;	   /* how long the others wait per step */
	const char *phase; /* "": no phase explains the wait */
	double phase_ms;   /* by how much `phase` takes longer than on other ranks */
};

struct report_ranks {
	LIST(struct report_rank) list;
	struct report_straggler *straggler;
};

/* How the run ended. Only one of `status` and `signal` is known. */
struct report_exit {
	int64_t status, signal;
	const char *exception, *file; /* `file`, `line`: where it was raised */
	int64_t line;
	struct report_failure *out_of_memory;
	struct report_last_call *last_call; /* before the signal; NULL: unknown, or no signal */
};

struct report_run {
	LIST(const char *) command;
	const char *host, *start, *cwd, *version;
	double wall_s;
	bool simulated_gpu;
	int64_t pid, signal, exit_status, silent_processes;
	struct report_exit *exit; /* NULL: the run has not ended */
};

struct report {
	struct report_run run;
	VEC(struct report_process *) processes; /* the report is a holder of each */
	struct report_ranks *ranks;		/* NULL: not a job of several ranks */
	struct arena arena;			/* owns the texts and lists of `run` and `ranks` */
};

/* ---- report.c ---- */

/* Returns a process with no known values. The caller is its first holder. */
struct report_process *report_process_new(void);
/* Adds a holder. Returns `p`. */
struct report_process *report_process_hold(struct report_process *p);
/* Removes a holder. Frees the process if it was the last one. `p` may be NULL. */
void report_process_drop(struct report_process *p);

/* Makes an empty report. */
void report_start(struct report *r);
void report_free(struct report *r);

/* Adds the process to the report, which takes the caller's place as holder. */
void report_add(struct report *r, struct report_process *p);

/* Removes processes that launched no GPU work, and counts them in `run`. Does nothing if all
 * processes are of this kind. */
void report_omit_silent(struct report *r);

/* Returns how many of the processes have not ended. */
size_t report_running(const struct report *r);

/* Returns the process that wrote `journal` ("journal/123.journal"), or NULL. Adds no holder. */
struct report_process *report_find(const struct report *r, const char *journal);

#endif
