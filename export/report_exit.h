/* How the run ended, if something went wrong: an exception, memory that ran out, a failed CUDA call
 * or a signal. It is the headline of the report. */
#ifndef EXPORT_REPORT_EXIT_H
#define EXPORT_REPORT_EXIT_H

#include "export/report.h"
#include "export/textout.h"

/* Fills r->run.exit from the run's exit status or signal and from what the processes report. Does
 * nothing while the run goes on. */
void report_exit_fill(struct report *r);

/* Returns whether the run ended with a signal or with an exit status other than 0. */
bool report_exit_is_bad(const struct report *r);

/* Prints how the run ended, and what the process reports about it. Prints nothing if the run has
 * not ended, or ended well. */
void report_exit_say(struct textout *o, const struct report *r, const struct report_process *p);

#endif
