/* The summaries of a process's recorded steps: what its timeline says, without what is known of the whole run (core/model/baseline.h and others). */
#ifndef CORE_SUMMARY_H
#define CORE_SUMMARY_H

#include "core/analysis/findings.h"

/* Fills gpus, idle, syncs, phases, operators, kernels, lines and copies; `f` must be zero or filled by others before. */
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
/* The same of some steps alone, `is_usual` by the timeline's steps. */
void summary_fill_usual_phases(struct findings *f, const bool *is_usual);

#endif
