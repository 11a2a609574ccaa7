/* What asks a process for steps, as its journal tells it, and the flight recorder that answers (flight.h). */
#ifndef CORE_DRIVER_FLIGHT_H
#define CORE_DRIVER_FLIGHT_H

#include "core/source/process/driver_parts.h"

/*
 * Call when its journal has just been opened. `write` takes the kept steps, with the driver as
 * context.
 */
void driver_flight_start(struct driver *d, void (*write)(void *driver, struct model_step *m));

/* For the sink: STEP_TRIGGERED was read. */
void driver_triggered(void *driver, struct ingest *f, const struct rec_step *step);

/* Live, after each pass: answers who asked for what is kept, in the library's stead too where the process hangs. */
void driver_flight_serve(struct driver *d);

/* Nothing more will come. */
void driver_flight_end(struct driver *d, enum flight_why why);

#endif
