/* Summaries of the recorded steps of a process, from its timeline. summary_run.h has the summaries
 * of the whole run. */
#ifndef CORE_SUMMARY_H
#define CORE_SUMMARY_H

#include "core/analysis/findings.h"

/* Sets f->timeline. Fills gpus, idle, gpu_steps, use, syncs, calls, launches, queues, kernels,
 * copies, graphs, graph_steps, lines, operators, delays, sequences, modules, shapes, collectives,
 * arrivals and phases, which must be zero before. Adds to `unavailable`. */
void summary_fill(struct findings *f, struct timeline *t);

/* ---- summary_work.c ---- */

/* Fills f->kernels, and the counts of kernels and tensor core shares in f->gpus. */
void summary_fill_kernels(struct findings *f);
void summary_fill_copies(struct findings *f);

/* ---- summary_calls.c ---- */

void summary_fill_calls(struct findings *f);

/* ---- summary_use.c: needs f->gpus ---- */

/* Fills f->use, and hidden_pct of f->gpus. */
void summary_fill_use(struct findings *f);

/* ---- summary_sm.c: needs f->gpus ---- */

/* Fills sm_pct and occupancy_pct of f->gpus. */
void summary_fill_multiprocessors(struct findings *f);

/* ---- summary_launches.c, summary_queues.c ---- */

void summary_fill_launches(struct findings *f);
void summary_fill_queues(struct findings *f);

/* ---- summary_operator_runs.c ---- */

void summary_fill_delays(struct findings *f);
void summary_fill_sequences(struct findings *f);

/* ---- summary_graphs.c ---- */

void summary_fill_graphs(struct findings *f);

/* ---- summary_graph_steps.c ---- */

/* Fills f->graph_steps and step_graphs, unless no step launched a graph. */
void summary_fill_graph_steps(struct findings *f);

/* ---- summary_libraries.c: needs lines, operators and kernels, and adds their arithmetic ---- */

void summary_fill_libraries(struct findings *f);

/* ---- summary_shapes.c ---- */

void summary_fill_shapes(struct findings *f);

/* ---- summary_host.c ---- */

/* Fills f->lines, backward_gpu_ms and tied_gpu_ms. */
void summary_fill_lines(struct findings *f);
void summary_fill_operators(struct findings *f);
void summary_fill_modules(struct findings *f);

/* ---- summary_between.c ---- */

/* Fills f->host, between_ms and n_host_samples. */
void summary_fill_between(struct findings *f);

/* ---- summary_phases.c ---- */

void summary_fill_phases(struct findings *f);
/* Fills typical_host_ms of the phases from the typical steps. `is_typical`: by step of the
 * timeline. */
void summary_fill_typical_phases(struct findings *f, const bool *is_typical);

#endif
