/*
 * Which of a process's trace files stay: the first ones and the newest. A job of days may record a window every hour for ever, and
 * must not fill the disk; when one trace too many is there, the oldest that is not among the first is removed. One thread.
 */
#ifndef EXPORT_TRACE_KEEP_H
#define EXPORT_TRACE_KEEP_H

#include "core/util/vec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct trace_limits {
	uint64_t files, bytes; /* of one process; 0: no limit */
};

struct kept_trace {
	char *name; /* relative to the run's folder */
	uint64_t bytes;
};

struct trace_keep {
	VEC(struct kept_trace) first, newest;
	uint64_t bytes_first, bytes_newest;
	bool first_is_full;
	uint64_t n_removed, bytes_removed;
};

/* `name` was written into `folder`; removes what is now too much. */
void trace_keep_add(struct trace_keep *k, const struct trace_limits *limits, const char *folder,
		    const char *name);

/* Names of those that are there. New reference. */
json_t *trace_keep_list(const struct trace_keep *k);

void trace_keep_free(struct trace_keep *k);

#endif
