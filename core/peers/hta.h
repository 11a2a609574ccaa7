/*
 * What Holistic Trace Analysis (HTA) 0.6.1 computes from traces, with its own definitions, its
 * faults included (docs/metrics.md). `profrun report --compat hta` prints it.
 */
#ifndef CORE_PEERS_HTA_H
#define CORE_PEERS_HTA_H

#include "core/peers/tables.h"
#include "core/runtime/err.h"

/*
 * Adds the tables of all ranks. `paths`: one trace per rank; of two with the same rank, the last
 * counts. `keeps_last_step`: HTA's include_last_profiler_step. Returns 0, or -errno with one line
 * in `e`.
 */
int hta_analyze(struct peer_tables *to, const char *const *paths, size_t n, bool keeps_last_step,
		struct err *e);

#endif
