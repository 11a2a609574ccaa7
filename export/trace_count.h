/* Counts the content of a Perfetto trace that profrun wrote. */
#ifndef EXPORT_TRACE_COUNT_H
#define EXPORT_TRACE_COUNT_H

#include "core/runtime/err.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_count {
	uint64_t records;			       /* packets of Perfetto, events of Chrome */
	uint64_t tracks, processes, threads, counters; /* track descriptors: all, and by kind */
	uint64_t slices, instants, counter_points, flows, flow_ends;
};

/* Counts the content of a plain or gzip file. Returns 0, or -errno with one line in `e` if the file
 * is not a trace or is truncated. */
int trace_count_file(const char *path, struct trace_count *count, struct err *e);

#endif
