/* Which rank waited for which in a collective: found by comparing the reports of several ranks. */
#ifndef EXPORT_REPORT_MEETINGS_H
#define EXPORT_REPORT_MEETINGS_H

#include "export/report.h"

/*
 * Fills `wait_ms`, `last_rank` and `bus_gb_per_s_moving` (the bandwidth without the wait) of all
 * processes' collectives for which another rank's arrival is known.
 */
void report_meetings_join(struct report *r);

#endif
