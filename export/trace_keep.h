/*
 * Limits the trace files of one process, because a job that records a window every hour for days
 * must not fill the disk. Which traces are written is known beforehand, so none is written to be
 * removed. The first steps get traces until half of a limit is used. From then on, the numbers of
 * recorded steps from trace to trace grow in equal proportion, so that the other half lasts until
 * the process has recorded TRACE_KEEP_SPAN times as many steps. Steps that somebody asked for, with
 * a trigger or the flight recorder, always get a trace: above a limit, the oldest trace that is not
 * among the first ones is removed for it. For one thread.
 */
#ifndef EXPORT_TRACE_KEEP_H
#define EXPORT_TRACE_KEEP_H

#include "core/util/vec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct trace_limits {
	uint64_t files, bytes; /* limits per process; 0: no limit */
};

struct kept_trace {
	char *name; /* path relative to the run's folder */
	uint64_t bytes;
};

struct trace_keep {
	VEC(struct kept_trace) first, newest;
	uint64_t bytes_first, bytes_newest;
	bool first_is_full;
	uint64_t n_removed, bytes_removed;
	uint64_t n_steps;    /* recorded steps so far */
	uint64_t n_left_out; /* recorded steps without a trace, by the rule */
	uint64_t next; /* the step from which on the next one gets a trace, counted like n_steps */
	double growth; /* from one such step to the next; 0: not known yet */
};

#define TRACE_KEEP_SPAN 1e6

/*
 * Decides whether the next recorded step gets traces. `n_files`: how many, one per format.
 * `is_asked`: somebody asked for the step.
 */
bool trace_keep_wants(struct trace_keep *k, const struct trace_limits *limits, unsigned n_files,
		      bool is_asked);

/* Adds the trace `name` in `folder`, which has been written, then removes traces until the limits
 * hold. */
void trace_keep_add(struct trace_keep *k, const struct trace_limits *limits, const char *folder,
		    const char *name);

/* Returns the names of the kept traces; the caller owns the reference. */
json_t *trace_keep_list(const struct trace_keep *k);

/* Removes all traces from `folder` and starts anew. */
void trace_keep_forget(struct trace_keep *k, const char *folder);

void trace_keep_free(struct trace_keep *k);

#endif
