/*
 * What the user should know about a process's steps: fills `diagnostic`, which the run's summary
 * and the report print.
 */
#ifndef CORE_DIAGNOSTIC_H
#define CORE_DIAGNOSTIC_H

#include "core/source/process/driver_parts.h"

/* The steps are time slices. */
void explain_slices(struct driver *d);

/*
 * The schedule was applied afterwards. While the steps ran, they were not detected yet, so they
 * have no GPU times.
 */
void explain_late_steps(struct driver *d);

/* No step was recorded. */
void explain_nothing_recorded(struct driver *d);

#endif
