/* What only the reports of several ranks together tell: who waited for whom in a collective. */
#ifndef EXPORT_REPORT_MEETINGS_H
#define EXPORT_REPORT_MEETINGS_H

#include "export/report.h"

/*
 * Fills `wait_ms`, `last_rank` and `bus_gb_per_s_moving` (while it did not wait) of all processes' collectives, where another
 * rank's arrival at them is known.
 */
void report_meetings_join(struct report *r);

#endif
