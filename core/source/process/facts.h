/*
 * Describes a process by what its journal says, without an analysis: the process's part of
 * run.json, and the head of its part of report.json.
 */
#ifndef CORE_FACTS_H
#define CORE_FACTS_H

#include "core/util/list.h"
#include "core/util/sample.h"

#include <stdbool.h>
#include <stdint.h>

struct driver;

struct facts_device {
	int64_t id;
	const char *name;
};

struct facts_trigger {
	const char *by;
	int64_t n, first;
};

struct facts_kept {
	const char *why;
	int64_t n, first, last;
};

/* Provisional detections that proved wrong: how many, and the calls per step of the last one. */
struct facts_corrected {
	int64_t times, period_before;
};

/* A loop of the program. `file` "": unknown. `line` -1: unknown. */
struct facts_loop {
	const char *file, *function;
	int64_t line, iterations;
	bool is_call; /* the place is that of a function that each iteration calls */
	double share; /* of the time, from 0 to 1; NAN: not said */
};

/* The loop whose iterations are the steps, and the loops around and inside it. */
struct facts_loops {
	struct facts_loop step;
	double per_step; /* iterations per step if a step is several; NAN: it is one */
	LIST(struct facts_loop) outer, inner; /* nearest first; heaviest first */
	struct facts_loop *instead;	      /* the loop that could be meant instead; NULL: none */
	LIST(struct facts_loop) others; /* before, after or between the steps; heaviest first */
};

/* What a running process does with the current step. */
#define FACTS_RECORDS  "recording"
#define FACTS_WARMS_UP "warming up"
#define FACTS_SKIPS    "not recording"

struct facts_steps {
	int64_t count;
	const char *detector;
	double confidence;
	LIST(int64_t) recorded, traced; /* numbers of recorded steps, and of those with traces */
	/* by how many steps the schedule moved: in total, and at its first window */
	int64_t schedule_shift, schedule_late;
	double opening_s; /* length of the opening, if it ended before the process did */
	/* If there are no steps: the time from the process's start to its first CUDA call, and from
	 * its last CUDA call or GPU work to its end. NAN: not known. */
	double start_up_s, after_last_s;
	struct sample_summary *step_ms, *recorded_step_ms;
	/* Of a running process: what it does with the current step (FACTS_RECORDS, ...; "": not
	 * known), the first step that the schedule records (-1: none), and the times of the newest
	 * steps, oldest first, as far as all are known. */
	const char *action;
	int64_t first_scheduled;
	LIST(int64_t) recent_ns;
	int64_t slices;
	struct facts_corrected *corrected;
	int64_t last, trains_from; /* numbers of the newest step, and of the first training step */
	/* The anchor stopped occurring in this step, and no other one was found; -1: it did not. */
	int64_t lost_after;
	int64_t period; /* calls per step, if the steps were learned */
	const char *boundary;
	const char *annotation;	  /* detector "annotation": what the names have in common */
	struct facts_loops *loop; /* NULL: the loop is not known */
	LIST(struct facts_trigger) triggers;
	LIST(struct facts_kept) kept; /* steps that the flight recorder kept and wrote */
};

/* Recorded steps without a gap, and how many of their launches have GPU times. */
struct facts_window {
	LIST(int64_t) steps;
	int64_t launches, captured;
	const char *why; /* why launches have no GPU times, and what to do; "": all have */
	/* kernels of CUDA graphs, those with a captured line, and why others have none; "": all
	 * have */
	int64_t graph_kernels, graph_captured;
	const char *graph_why;
};

/* The launches of all recorded steps. `pct`: NAN without launches. */
struct facts_completeness {
	int64_t launches, captured;
	double pct;
	int64_t graph_kernels, graph_captured; /* as in facts_window */
	const char *graph_why;
	LIST(struct facts_window) windows;
};

struct facts_records {
	int64_t records, calls, launches, kernels, memcpys, memsets, gpu_syncs, paired;
};

struct facts_losses {
	/* `dropped`: records of all kinds for which the journal had no room; then parts of it */
	int64_t dropped, dropped_calls, dropped_gpu, dropped_steps;
	int64_t dropped_names, dropped_by_cupti, calls_without_gpu_work, gpu_work_without_call,
		late, too_many_in_a_step, damaged_places, impossible_records;
};

/*
 * Recording overhead in percent of a step. `pct` applies while recording, `left_pct` after the
 * first window.
 */
struct facts_overhead {
	double pct, left_pct;
	struct field_range ci, left_ci;
};

/* State of CUPTI in a trace that has launches, but no GPU work. */
#define CUPTI_EMPTY "empty capture"

struct facts_cupti {
	const char *state, *reason, *copies, *times, *graph_ids;
};

struct facts_file {
	const char *format;
	int64_t n, n_empty;
};

struct process_facts {
	int64_t pid, ppid;
	const char *state; /* "running", "ended" or "killed" */
	const char *rank, *command, *version, *clock, *journal;
	bool journal_is_whole;
	int64_t threads;
	LIST(struct facts_device) devices;
	struct facts_steps steps;
	struct facts_records *records;
	struct facts_losses losses;
	struct facts_overhead overhead;
	struct facts_cupti cupti;
	struct facts_completeness completeness;
	LIST(struct facts_file) files;
	int64_t n_traces, n_traces_left_out, n_traces_removed, n_traces_failed;
	const char *damage, *diagnostic, *trouble;
	/* the last exception that the process wrote to stderr; "": none */
	const char *exception, *exception_file;
	int64_t exception_line;
};

/*
 * Fills in what the journal says. Clear all members before, with fields_clear() of export/fields.h.
 * Leaves out overhead, completeness, files and traces, which the caller fills. Texts and lists
 * belong to `a`.
 */
void driver_describe(const struct driver *d, struct process_facts *to, struct arena *a);

#endif
