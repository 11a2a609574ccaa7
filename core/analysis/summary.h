/* Summaries of a process's recorded steps, from its timeline. See summary_run.h
 * for the whole run. */
#ifndef CORE_SUMMARY_H
#define CORE_SUMMARY_H

#include "core/analysis/findings.h"

/* Fills gpus, idle, syncs, phases, operators, kernels, lines and copies. Other members of `f` may
 * be filled already; these must be zero. */
void summary_fill(struct findings *f, struct timeline *t);

/* ---- summary_work.c ---- */

void summary_fill_kernels(struct findings *f);
void summary_fill_copies(struct findings *f);

/* ---- summary_libraries.c; adds to lines, operators and kernels ---- */

void summary_fill_libraries(struct findings *f);

/* ---- summary_host.c ---- */

void summary_fill_lines(struct findings *f);
void summary_fill_operators(struct findings *f);
void summary_fill_modules(struct findings *f);

/* ---- summary_phases.c ---- */

void summary_fill_phases(struct findings *f);
/* Fills typical_host_ms from the steps in `is_typical`, by the timeline's steps. */
void summary_fill_typical_phases(struct findings *f, const bool *is_typical);

#endif
