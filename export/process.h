/*
 * One process of a run, from its journal to its traces: follows it, learns its steps, writes a file per step to be shown. Used
 * by the collector while the process lives and by `profrun export` afterwards.
 */
#ifndef EXPORT_PROCESS_H
#define EXPORT_PROCESS_H

#include "core/source/journal/ahead.h"
#include "core/source/journal/ingest.h"
#include "core/steps/learn.h"
#include "export/analysis.h"
#include "export/exporter.h"
#include "export/flight.h"
#include "export/process_facts.h"
#include "export/trace_keep.h"
#include "export/versions.h"

#include <jansson.h>
#include <limits.h>

enum { TRIGGERS_LISTED = 1024 };

/* Where traces go, for all processes of a run. */
struct output {
	char folder
		[PATH_MAX]; /* with `is_plain`, a format's files go right below it instead of into its own folder */
	bool is_plain;
	const struct exporter *formats[EXPORTERS_MOST];
	int n_formats;
	struct trace_limits limits;
	bool analyses;	   /* recorded steps are kept for a report */
	VEC(char *) taken; /* names of processes: ranks, pids */
};

void output_free(struct output *o);

/* Something asked for steps. */
struct process_trigger {
	enum trigger_cause cause;
	uint64_t first, n; /* steps recorded for it; with a flight recorder, those that followed */
};

enum process_state { PROCESS_RUNS, PROCESS_ENDED, PROCESS_KILLED };

struct process {
	struct ingest ingest;
	struct learn learn;
	struct ahead ahead;
	struct output *output;
	struct analysis *analysis; /* NULL: none is wanted */
	char path[PATH_MAX],
		stem[64]; /* the journal and what its name says: pid, or pid-2 after an exec */
	char name[64];	  /* of its folder: rank or stem; "" until it is needed */
	bool is_live, is_finished;
	bool was_seen_alive; /* not so in a namespace of pids that is not below ours */
	uint32_t
		pid_here; /* where its journal names another: it is in a namespace of pids of its own; 0: not found */
	bool was_recycled; /* the journal is no longer whole */
	enum process_state state;
	struct trace_keep traces;
	uint64_t n_failed; /* traces that could not be written */
	struct process_files {
		uint64_t n, n_empty;
	} files[EXPORTERS_MOST]; /* that were, by the output's formats */
	struct flight flight;
	uint32_t asked_served,
		signals_served; /* requests that were answered in the library's stead */
	uint64_t unanswered_ms; /* since when one has been there, 0: none is */
	VEC(struct process_trigger) triggers;
	uint64_t n_triggers;
	uint64_t n_traces, n_shown; /* n_shown: steps handed on, whatever became of them */
	struct err trouble;	    /* the first that stood in the way of a trace */
	struct err diagnostic;	    /* what the user should know about its steps */
	bool has_steps;		    /* steps could be told */
	uint64_t
		n_function_calls; /* PROF_STEP=python: that were seen before its steps were known */
	double confidence;
	struct versions versions;     /* live */
	unsigned n_versions_read;     /* how often they were looked for */
	uint32_t period;	      /* calls of a learned step, 0: it was not learned */
	enum level_boundary boundary; /* of a learned step */
};

/* 0 or -errno with one line in `e`. */
int process_open(struct process *p, struct output *output, const char *path, bool live,
		 struct err *e);
void process_close(struct process *p);

/* Live: takes in what is new; whether there was anything. */
bool process_poll(struct process *p);

/* Live: whether records are wanted quickly, because steps are being learned. */
bool process_is_learning(const struct process *p);

/* Whether its steps are slices of time, because none was found. */
bool process_has_slices(const struct process *p);

/* Whether it can still write. */
bool process_is_alive(const struct process *p);

/* It has ended: writes what is left. */
void process_finish(struct process *p);

/* All of it, from the journal alone. */
int process_export(struct process *p, struct output *output, const char *path, struct err *e);

/* Gives back what the analysis holds; what it found must have been asked for. */
void process_forget_analysis(struct process *p);

/* What is wrong with its journal as a file, in one line without its name; "" where nothing is. It has been read. Returns `to`. */
char *process_damage(const struct process *p, char *to, size_t bytes);

/* The same on stderr, with the journal's name. True where something is wrong. */
bool process_complain_of_damage(const struct process *p);

/* What is known of it without an analysis; texts and lists belong to `a`. */
void process_describe(const struct process *p, struct process_facts *to, struct arena *a);

/* The same for run.json, with its versions and traces. New reference. */
json_t *process_to_json(const struct process *p);

#endif
