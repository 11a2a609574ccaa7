/* Finds which rank waited for which in collectives, by comparing several ranks' reports. */
#ifndef EXPORT_REPORT_MEETINGS_H
#define EXPORT_REPORT_MEETINGS_H

#include "export/report.h"

/* Fills in `wait_ms`, `last_rank` and `bus_gb_per_s_moving` (the bandwidth without the wait) of
 * each collective for which another rank's arrival is known, in all processes. Fills in their
 * `waits`. */
void report_meetings_join(struct report *r);

#endif
