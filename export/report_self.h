/* What profrun itself cost and lost, as far as a run can tell. */
#ifndef EXPORT_REPORT_SELF_H
#define EXPORT_REPORT_SELF_H

#include "core/findings.h"

#include <jansson.h>

/* The part `self` of a process's report. New reference. */
json_t *report_self(const json_t *described, const struct findings *f);

/* How much longer armed steps took than the others of the same run, in percent, with its 95 % confidence interval. */
struct self_overhead {
	bool is_known;
	double pct, low_pct, high_pct;
};
struct self_overhead self_overhead_of(const struct finding_steps *all,
				      const struct finding_steps *armed);

#endif
