/* Prints the steps in the first screen: their length and number, which were recorded and why. */
#ifndef EXPORT_REPORT_STEPS_H
#define EXPORT_REPORT_STEPS_H

#include "export/report.h"
#include "export/textout.h"

/* Returns the typical length of a step in milliseconds. If it is not known, returns that of
 * recorded steps. */
double report_step_ms(const struct report_process *p);

/* Returns which share of the process's time, in percent, lies before its first CUDA call. NAN: not
 * known, or the process has steps. */
double report_start_up_pct(const struct report_process *p);

/* If this many times more of a GPU's work runs after the steps than in them, the utilization and
 * the time of steps on the CPU say little. */
enum { REPORT_MOSTLY_LATE = 2 };

/* Returns whether the CPU launches the steps so far ahead that the GPU runs most of their work
 * after all of them. Then the pace of the work is `replay->measured_ms`, not the time from one step
 * to the next on the CPU. */
bool report_runs_ahead(const struct report_process *p);

/* Returns whether the CPU runs ahead of the GPU and waits for it only in some steps. A step then
 * takes as long as the mean, not as the median. */
bool report_catches_up(const struct report_process *p);

void report_steps_say(struct textout *o, const struct report_process *p, const char *cwd);

#endif
