/*
 * Requests for steps, as the journal reports them, and the flight recorder that answers (flight.h).
 */
#ifndef CORE_DRIVER_FLIGHT_H
#define CORE_DRIVER_FLIGHT_H

#include "core/source/process/driver_parts.h"

/*
 * Call when its journal has just been opened. `write` takes the kept steps, with the driver as
 * context.
 */
void driver_flight_start(struct driver *d, void (*write)(void *driver, struct model_step *m));

/* Takes a STEP_TRIGGERED record: a function of ingest's sink. */
void driver_triggered(void *driver, struct ingest *f, const struct rec_step *step);

/*
 * Call live, after each pass. Answers requests for the kept steps, also in place of the library if
 * the process hangs.
 */
void driver_flight_serve(struct driver *d);

/* Call when everything has been read. */
void driver_flight_end(struct driver *d, enum flight_why why);

#endif
