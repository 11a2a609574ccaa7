/*
 * Explains to the user why steps were not detected or not recorded. Each function may set the
 * driver's `diagnostic`, which the run's summary and the report print.
 */
#ifndef CORE_DIAGNOSTIC_H
#define CORE_DIAGNOSTIC_H

#include "core/source/process/driver_parts.h"

/* Explains why the steps are time slices, if they are. */
void explain_slices(struct driver *d);

/*
 * Explains why recorded steps have no GPU times, if their schedule was applied only afterwards. The
 * steps were not detected while they ran, so GPU timing was never switched on.
 */
void explain_late_steps(struct driver *d);

/* Explains why the steps after the opening are not counted, although the loop is known. */
void explain_uncounted(struct driver *d);

/* Explains why no step was recorded. */
void explain_nothing_recorded(struct driver *d);

#endif
