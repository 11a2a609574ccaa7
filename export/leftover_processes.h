/* Counts processes of a run that still run after the run's command has ended: `python train.py &`
 * in a script, or a daemon. */
#ifndef EXPORT_LEFTOVER_PROCESSES_H
#define EXPORT_LEFTOVER_PROCESSES_H

#include <stddef.h>

/*
 * Returns how many live processes were started with the environment of the run in `folder`. Counts
 * only those whose environment this user may read.
 */
size_t leftover_processes(const char *folder);

#endif
