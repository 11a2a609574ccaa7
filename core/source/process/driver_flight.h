/*
 * Handles requests for steps: lists those that the journal reports, and lets the flight recorder
 * (flight.h) answer them.
 */
#ifndef CORE_DRIVER_FLIGHT_H
#define CORE_DRIVER_FLIGHT_H

#include "core/source/process/driver_parts.h"

/*
 * Resets the flight recorder and the list of requests. Call when the driver's journal has just been
 * opened. `write` takes the kept steps; its argument `driver` is `d`.
 */
void driver_flight_start(struct driver *d, void (*write)(void *driver, struct model_step *m));

/*
 * Lists a STEP_TRIGGERED record, and passes the request to the flight recorder if it is on. The
 * function `triggered` of a struct ingest_sink. `driver`: a struct driver.
 */
void driver_triggered(void *driver, struct ingest *f, const struct rec_step *step);

/*
 * Answers requests for kept steps. If the process hangs, answers in place of the library. Call
 * after each pass over the journal of a live process.
 */
void driver_flight_serve(struct driver *d);

/* Writes the remaining kept steps. Call when the journal has been read to its end. */
void driver_flight_end(struct driver *d, enum flight_why why);

#endif
