/* Fills in a process's part of the report from its facts and from the results of the analysis. */
#ifndef EXPORT_REPORT_FILL_H
#define EXPORT_REPORT_FILL_H

#include "core/analysis/findings.h"
#include "export/report.h"

/* Fills all of `p` except `p->facts`, which the caller has filled. `f`: NULL if nothing was
 * analyzed. */
void report_fill(struct report_process *p, const struct findings *f);

#endif
