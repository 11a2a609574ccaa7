/*
 * Limits the trace files of one process, because a job that records a window every hour for days
 * must not fill the disk. Keeps the first and the newest traces: above a limit, removes the oldest
 * trace that is not among the first ones. For one thread.
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
};

/* Adds the trace `name` in `folder`, then removes traces until the limits hold. */
void trace_keep_add(struct trace_keep *k, const struct trace_limits *limits, const char *folder,
		    const char *name);

/* Returns the names of the kept traces; the caller owns the reference. */
json_t *trace_keep_list(const struct trace_keep *k);

void trace_keep_free(struct trace_keep *k);

#endif
