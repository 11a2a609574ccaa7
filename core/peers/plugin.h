/*
 * What TensorBoard's plugin torch-tb-profiler computes from traces, in its last version (the parent
 * of Kineto's commit 94979607), with its own definitions, its faults included (docs/metrics.md).
 * `profrun report --compat tensorboard` prints it.
 */
#ifndef CORE_PEERS_PLUGIN_H
#define CORE_PEERS_PLUGIN_H

#include "core/peers/tables.h"
#include "core/runtime/err.h"

/* Adds the tables of all traces. Returns 0, or -errno with one line in `e`. */
int plugin_analyze(struct peer_tables *to, const char *const *paths, size_t n, struct err *e);

#endif
