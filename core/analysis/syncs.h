/* The synchronization summary: the timeline's waits, summed by source line. */
#ifndef CORE_SYNCS_H
#define CORE_SYNCS_H

#include "core/analysis/findings.h"

/* Fills f->syncs from f->timeline. `idle_ns`: by call of the timeline, how long the GPU was idle
 * because the CPU waited in the call. */
void syncs_fill(struct findings *f, const uint64_t *idle_ns);

#endif
