/* Estimated savings: the words that the first screen and the full report share. */
#ifndef EXPORT_REPORT_GAINS_H
#define EXPORT_REPORT_GAINS_H

#include "export/report.h"
#include "export/textout.h"

/*
 * The heading, with the length of the step that the savings refer to: one without recording
 * overhead.
 */
void report_gains_heading(struct textout *o, const struct report_process *p);

/*
 * Whether it saves time in few steps only: such savings are averaged over all steps and have a
 * heading of their own.
 */
bool report_gain_is_rare(const struct report_advice *a);
void report_gains_rare_heading(struct textout *o, const struct report_process *p);

/* Writes "    1.200 ms  23 %  " of one advice. Returns `to`. */
char *report_gain(char *to, size_t bytes, const struct report_process *p,
		  const struct report_advice *a);

/* The combined savings of the first `n`, where they overlap. */
void report_gains_sum(struct textout *o, const struct report_process *p, size_t n);

#endif
