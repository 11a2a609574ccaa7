/* The steps in the first screen: how long, how many, which were recorded and why. */
#ifndef EXPORT_REPORT_STEPS_H
#define EXPORT_REPORT_STEPS_H

#include "export/report.h"
#include "export/textout.h"

/* Returns the typical length of a step; that of the recorded steps where no other is known. */
double report_step_ms(const struct report_process *p);

void report_steps_say(struct textout *o, const struct report_process *p);

#endif
