/* The encoding of the format "perfetto", also for its tests and benchmark. */
#ifndef EXPORT_PERFETTO_H
#define EXPORT_PERFETTO_H

#include "core/analysis/analyzer.h"

/* Takes the trace's bytes, piece by piece. */
typedef void perfetto_write(void *context, const void *bytes, size_t n);

void perfetto_encode(const struct analyzed_step *step, perfetto_write *write, void *context);

#endif
