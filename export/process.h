/*
 * What is made of one process's recorded steps: traces, one file per step and format, and the
 * analysis. Used by the collector while the process lives, and afterwards by the commands that read
 * journals.
 */
#ifndef EXPORT_PROCESS_H
#define EXPORT_PROCESS_H

#include "core/source/process/driver.h"
#include "export/analysis.h"
#include "export/exporter.h"
#include "export/process_facts.h"
#include "export/trace_keep.h"
#include "export/versions.h"

#include <jansson.h>
#include <limits.h>

/* Where traces go, for all processes of a run. */
struct output {
	/* With `is_plain`, formats write directly into it instead of into their own folders. */
	char folder[PATH_MAX];
	bool is_plain;
	const struct exporter *formats[EXPORTERS_MOST];
	int n_formats;
	struct trace_limits limits;
	bool analyses;	   /* recorded steps are kept for a report */
	VEC(char *) taken; /* names of processes: ranks, pids */
};

void output_free(struct output *o);

struct process {
	struct driver *driver;
	struct output *output;
	struct analysis *analysis; /* NULL: none is wanted */
	char name[64];		   /* of its folder: rank or stem; "" until it is needed */
	struct trace_keep traces;
	uint64_t n_traces, n_failed; /* traces written, and those that could not be */
	struct process_files {
		uint64_t n, n_empty;
	} files[EXPORTERS_MOST];  /* written, by the output's formats */
	struct versions versions; /* live */
	unsigned n_versions_read; /* how often they were looked for */
};

/* `p` must stay where it is until process_close(). Returns 0, or -errno with one line in `e`. */
int process_open(struct process *p, struct output *output, const char *path, bool live,
		 struct err *e);
void process_close(struct process *p);

/* Live: takes in what is new; whether there was anything. */
bool process_poll(struct process *p);

/* It has ended: writes what is left. */
void process_finish(struct process *p);

/* All of it, from the journal alone. */
int process_export(struct process *p, struct output *output, const char *path, struct err *e);

/* Gives back what the analysis holds; what it found must have been asked for. */
void process_forget_analysis(struct process *p);

/* Prints on stderr what is wrong with the journal as a file. Returns whether anything is. */
bool process_complain_of_damage(const struct process *p);

/* What is known of it without an analysis; texts and lists belong to `a`. */
void process_describe(const struct process *p, struct process_facts *to, struct arena *a);

/* The same for run.json, with its versions and traces. New reference. */
json_t *process_to_json(const struct process *p);

#endif
