/*
 * How far work that may take long has come, for a line on the terminal (export/work_progress.h).
 * Costs an atomic addition per call. Any thread may call.
 */
#ifndef CORE_WORK_H
#define CORE_WORK_H

#include <stddef.h>
#include <stdint.h>

/* Begins a stage of the work, such as "reading". `total`: amount of work in any unit; 0: not
 * known. The text must stay valid. */
void work_begin(const char *what, uint64_t total);

/* Notes that `n` units more are done, or all of the first `n`. */
void work_add(uint64_t n);
void work_reach(uint64_t n);

/* Returns what the newest stage is, "" before the first one. Stores in `*share` how much of it is
 * done, from 0 to 1; NAN: not known. */
const char *work_now(double *share);

#endif
