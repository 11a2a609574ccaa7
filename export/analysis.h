/* The analysis of one process: its recorded steps are put side by side as they close; what they tell is asked for when wanted. */
#ifndef EXPORT_ANALYSIS_H
#define EXPORT_ANALYSIS_H

#include "core/analysis/analyzer.h"
#include "core/model/run.h"

struct report_process;
struct analysis;

/* `run` outlives it. `is_reported`: recorded steps are kept for a report. */
struct analysis *analysis_new(const struct run *run, bool is_reported);
void analysis_free(struct analysis *a);

/* Analyzes a step. What is returned is valid until the next one. */
const struct analyzed_step *analysis_step(struct analysis *a, const struct model_step *m);

/* Steps that it holds. */
size_t analysis_n_steps(struct analysis *a);

/* All that the steps so far tell. `to->facts` has been filled (process_describe). */
void analysis_report(struct analysis *a, struct report_process *to);

/* For what-if. */
struct timeline *analysis_timeline(struct analysis *a);

#endif
