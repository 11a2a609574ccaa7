/* Counts what a trace of profrun's holds, from the file alone. */
#ifndef EXPORT_TRACE_COUNT_H
#define EXPORT_TRACE_COUNT_H

#include "core/runtime/err.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_count {
	uint64_t records;			       /* Perfetto's packets, Chrome's events */
	uint64_t tracks, processes, threads, counters; /* descriptors */
	uint64_t slices, instants, counter_points, flows, flow_ends;
};

/* Counts a Perfetto trace, plain or gzip. Returns 0, or -errno with one line: not a trace, cut
 * short. */
int trace_count_file(const char *path, struct trace_count *count, struct err *e);

#endif
