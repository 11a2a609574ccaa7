/* What the first screen says of steps: how long, how many, which were recorded and why. */
#ifndef EXPORT_REPORT_STEPS_H
#define EXPORT_REPORT_STEPS_H

#include "export/report.h"
#include "export/textout.h"

/* What a step takes; where only recorded ones are known, as in a run that is one step, what these do. */
double report_step_ms(const struct report_process *p);

void report_steps_say(struct textout *o, const struct report_process *p);

#endif
