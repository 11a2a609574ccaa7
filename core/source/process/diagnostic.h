/* What the user should know about a process's steps, in `diagnostic`, which the run's summary and the report say. */
#ifndef CORE_DIAGNOSTIC_H
#define CORE_DIAGNOSTIC_H

#include "core/source/process/driver_parts.h"

/* Its steps are slices of time. */
void explain_slices(struct driver *d);

/* The schedule was applied afterwards: while the steps went on, nobody knew that they were ones to time. */
void explain_late_steps(struct driver *d);

/* No step was recorded. */
void explain_nothing_recorded(struct driver *d);

#endif
