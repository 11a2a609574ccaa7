/* Prints estimated savings, for the first screen and for the full report. */
#ifndef EXPORT_REPORT_GAINS_H
#define EXPORT_REPORT_GAINS_H

#include "export/report.h"
#include "export/textout.h"

/* Prints the heading. It contains the length of the step that the savings refer to, which is a step
 * without recording overhead. */
void report_gains_heading(struct textout *o, const struct report_process *p);

/* Returns whether the advice saves time only in few steps. These savings are averaged over all
 * steps, and printed under a separate heading. */
bool report_gain_is_rare(const struct report_advice *a);
void report_gains_rare_heading(struct textout *o, const struct report_process *p);

/* Writes the savings of one piece of advice: " 1.200 ms 23 % ". Returns `to`. */
char *report_gain(char *to, size_t bytes, const struct report_process *p,
		  const struct report_advice *a);

/* Prints the combined savings of the first `n` pieces of advice, if their savings overlap. */
void report_gains_sum(struct textout *o, const struct report_process *p, size_t n);

/* Returns what to print if there is no advice. Static. */
const char *report_gains_none(const struct report_process *p);

#endif
