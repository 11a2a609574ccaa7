/* What mending would win: the words that the first screen and the whole report have in common. */
#ifndef EXPORT_REPORT_GAINS_H
#define EXPORT_REPORT_GAINS_H

#include "export/report.h"
#include "export/textout.h"

/* Of which step: gains are of one without what recording costs. */
void report_gains_heading(struct textout *o, const struct report_process *p);

/* It is of few steps: told as the mean of all, beneath a heading of its own, as it does not add up with the others. */
bool report_gain_is_rare(const struct report_advice *a);
void report_gains_rare_heading(struct textout *o, const struct report_process *p);

/* "    1.200 ms  23 %  " of one advice. Returns `to`. */
char *report_gain(char *to, size_t bytes, const struct report_process *p,
		  const struct report_advice *a);

/* Below the first `n`: that they do not add up, and what they win together. */
void report_gains_sum(struct textout *o, const struct report_process *p, size_t n);

#endif
