/* What only the reports of several ranks together tell: who waited for whom in a collective. */
#ifndef EXPORT_REPORT_MEETINGS_H
#define EXPORT_REPORT_MEETINGS_H

#include "core/analysis/findings.h"

#include <jansson.h>

/* Into a process's report: when its part of each collective ran. */
void report_meetings_note(json_t *report, const struct findings *f);

/*
 * Fills `wait_ms_per_step`, `last_rank` and `bus_gb_per_s_moving` (while it did not wait) of the collectives of all processes, as far as another rank's notes say when that came.
 * Gives the same processes without the notes (new reference); takes over `processes`, whose members keep theirs.
 */
json_t *report_meetings_join(json_t *processes);

#endif
