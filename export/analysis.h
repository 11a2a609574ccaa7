/*
 * The analysis of one process. Recorded steps are added as they end; the results can be read at any
 * time.
 */
#ifndef EXPORT_ANALYSIS_H
#define EXPORT_ANALYSIS_H

#include "core/analysis/analyzer.h"
#include "core/model/run.h"

struct report_process;
struct analysis;

/* Returns a new analysis; the caller frees it with analysis_free(). `run` must outlive the
 * analysis. `is_reported`: keep recorded steps for a report. */
struct analysis *analysis_new(const struct run *run, bool is_reported);
void analysis_free(struct analysis *a);

/* Analyzes a step. The result is valid until the next call. */
const struct analyzed_step *analysis_step(struct analysis *a, const struct model_step *m);

/* Returns how many steps are kept for the report. */
size_t analysis_n_steps(struct analysis *a);

/*
 * Fills a report from the steps so far. The caller has filled `to->facts` with process_describe().
 */
void analysis_report(struct analysis *a, struct report_process *to);

/* Fills to->views, which report.html shows. The analysis must be for a report. */
void analysis_report_views(struct analysis *a, struct report_process *to);

/* Returns the steps so far for a what-if replay. The analysis owns the steps. The result is valid
 * until the next call. */
struct timeline *analysis_timeline(struct analysis *a);

#endif
