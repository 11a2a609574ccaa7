/* The encoding behind the format "perfetto", for its tests and benchmark too. */
#ifndef EXPORT_PERFETTO_H
#define EXPORT_PERFETTO_H

#include "core/model/model.h"

/* Gives the trace's bytes piece by piece. */
typedef void perfetto_write(void *context, const void *bytes, size_t n);

void perfetto_encode(const struct model_step *m, perfetto_write *write, void *context);

#endif
