/* What profrun itself cost and lost, as far as a run can tell. */
#ifndef EXPORT_REPORT_SELF_H
#define EXPORT_REPORT_SELF_H

#include "core/analysis/findings.h"

#include <jansson.h>

/* The part `self` of a process's report. New reference. */
json_t *report_self(const json_t *described, const struct findings *f);

/* Adds overhead_pct and overhead_ci, left_pct and left_ci, null where they are not known. */
void report_self_cost(json_t *self, const struct cost_found *c);

#endif
