/* Keeps a live process's part of the report, and makes it again when more steps were recorded. */
#ifndef EXPORT_REPORT_KEEP_H
#define EXPORT_REPORT_KEEP_H

#include "export/process.h"
#include "export/report.h"

struct report_keep {
	struct report_process *report; /* the latest report; NULL: none was made yet */
	size_t n_steps;		       /* number of recorded steps that `report` covers */
	uint64_t n_boundaries;	       /* number of all steps when `report` was made */
	uint64_t made_ms, took_ms;     /* when `report` was made */
	uint32_t training;	       /* run->training when `report` was made */
	uint64_t next_ms;	       /* not made again before this time */
	bool is_final;		       /* the process has ended, and `report` covers all of it */
};

/* Makes the report again if steps were recorded since and enough time has passed, less often if the
 * process only made more steps, or if the process has ended. `is_last`: no call follows, so do not
 * wait. Returns whether the report was made. */
bool report_keep_update(struct report_keep *k, struct process *p, uint64_t now_ms, bool is_last);

/* Returns the latest report. If there is none, returns a report with what is known without an
 * analysis. The caller becomes a holder (report_process_drop). */
struct report_process *report_keep_get(const struct report_keep *k, const struct process *p);

#endif
