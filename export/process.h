/*
 * Makes traces and an analysis from one process's recorded steps. The collector uses this while the
 * process runs; commands that read journals use it afterwards.
 */
#ifndef EXPORT_PROCESS_H
#define EXPORT_PROCESS_H

#include "core/source/process/driver.h"
#include "export/analysis.h"
#include "export/exporter.h"
#include "export/process_facts.h"
#include "export/step_files.h"
#include "export/trace_keep.h"
#include "export/versions.h"

#include <jansson.h>
#include <limits.h>

/* The output of all processes of a run. */
struct output {
	char folder[PATH_MAX];
	bool is_plain; /* traces go directly into the folder, without a subfolder per format */
	const struct exporter *formats[EXPORTERS_MOST];
	int n_formats;
	struct step_choice steps; /* those that are written */
	struct trace_limits limits;
	bool analyses;	       /* keep recorded steps for a report */
	const char *step_loop; /* see struct driver_sink */
	/* Also receives each analyzed step; NULL: nothing does. take_restart: the steps so far are
	 * void. */
	void (*take_step)(void *context, const struct analyzed_step *step);
	void (*take_restart)(void *context);
	void *take_context;
	VEC(char *) taken; /* ranks that processes have taken as their names */
};

void output_free(struct output *o);

struct process {
	struct driver *driver;
	struct output *output;
	struct analysis *analysis;    /* NULL: not wanted, or already freed */
	char name[64];		      /* name of its folder: rank or journal's name; "": not chosen
				    * yet */
	struct step_files step_files; /* the files that are being written */
	struct trace_keep traces;
	uint64_t n_traces, n_failed; /* traces written, and traces that could not be written */
	struct process_files {
		uint64_t n, n_empty;
	} files[EXPORTERS_MOST];	  /* files written, and how many are empty; same index as
				   * output->formats */
	struct completeness completeness; /* of the steps passed on */
	struct versions versions;	  /* read while the process is alive */
	unsigned n_versions_read;	  /* how often `versions` was read */
};

/* Opens the journal at `path`. `live`: the process may still run. `p` must not move until
 * process_close(). Returns 0, or -errno with one line in `e`. */
int process_open(struct process *p, struct output *output, const char *path, bool live,
		 struct err *e);
void process_close(struct process *p);

/* Reads what a live process has added to its journal. Returns whether there was anything new. */
bool process_poll(struct process *p);

/* Processes the rest of the journal of a process that has ended. */
void process_finish(struct process *p);

/* Opens and processes a whole journal. Returns 0, or -errno with one line in `e`; after an error
 * `p` is closed. */
int process_export(struct process *p, struct output *output, const char *path, struct err *e);

/* Frees the analysis and the stacks. The caller has already read the results it needs. */
void process_forget_analysis(struct process *p);

/* Prints on stderr how the journal is damaged. Returns whether it is damaged. */
bool process_complain_of_damage(const struct process *p);

/* Fills in what is known about the process without an analysis. `a` owns the texts and lists. */
void process_describe(const struct process *p, struct process_facts *to, struct arena *a);

/* process_describe()'s part for `completeness`. The caller has filled in the rest of `to`. */
void process_describe_completeness(const struct process *p, struct process_facts *to,
				   struct arena *a);

/* Returns the facts of process_describe() as JSON, with library versions and traces, for run.json.
 * The caller owns the reference. */
json_t *process_to_json(const struct process *p);

#endif
