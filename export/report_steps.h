/* What the first screen says of steps: how long, how many, which were recorded and why. */
#ifndef EXPORT_REPORT_STEPS_H
#define EXPORT_REPORT_STEPS_H

#include "export/textout.h"

#include <jansson.h>

/* Of a process: `baseline.step_ms`, an object where it is known. */
const json_t *report_step_lengths(const json_t *p);

/* What a step takes; where only recorded ones are known, as in a run that is one step, what these do. */
double report_step_ms(const json_t *p);

void report_steps_say(struct textout *o, const json_t *p);

#endif
