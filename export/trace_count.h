/* Counts what a Perfetto trace that profrun wrote contains. */
#ifndef EXPORT_TRACE_COUNT_H
#define EXPORT_TRACE_COUNT_H

#include "core/runtime/err.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_count {
	uint64_t packets, tracks, processes, threads, counters; /* descriptors */
	uint64_t slices, instants, counter_points, flows, flow_ends;
};

/*
 * Counts a plain or gzip file. Returns 0, or -errno with a message if it is not a trace, or is cut
 * short.
 */
int trace_count_file(const char *path, struct trace_count *count, struct err *e);

#endif
