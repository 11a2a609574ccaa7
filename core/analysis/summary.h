/* Summaries of the recorded steps of a process, from its timeline. summary_run.h has the summaries
 * of the whole run. */
#ifndef CORE_SUMMARY_H
#define CORE_SUMMARY_H

#include "core/analysis/findings.h"

/*
 * Sets f->timeline and fills gpus, idle, gpu_steps, syncs, kernels, copies, lines, operators,
 * modules, collectives, arrivals and phases; adds to `unavailable`. These members must be zero
 * before; others may be filled already.
 */
void summary_fill(struct findings *f, struct timeline *t);

/* ---- summary_work.c ---- */

void summary_fill_kernels(struct findings *f);
void summary_fill_copies(struct findings *f);

/* ---- summary_libraries.c: needs lines, operators and kernels, and adds their arithmetic ---- */

void summary_fill_libraries(struct findings *f);

/* ---- summary_host.c ---- */

void summary_fill_lines(struct findings *f);
void summary_fill_operators(struct findings *f);
void summary_fill_modules(struct findings *f);

/* ---- summary_phases.c ---- */

void summary_fill_phases(struct findings *f);
/* Fills typical_host_ms of the phases from the steps for which `is_typical` is true. It is indexed
 * like the timeline's steps. */
void summary_fill_typical_phases(struct findings *f, const bool *is_typical);

#endif
