/* A process's part of the report, from what is known of it and from what the analysis found. */
#ifndef EXPORT_REPORT_FILL_H
#define EXPORT_REPORT_FILL_H

#include "core/analysis/findings.h"
#include "export/report.h"

/*
 * Fills all of `p` but `p->facts`, which has been filled. `f` NULL: nothing was analysed, because
 * no step was recorded.
 */
void report_fill(struct report_process *p, const struct findings *f);

#endif
