/* What asks a process for steps, as its journal tells it, and the flight recorder that answers (flight.h). */
#ifndef EXPORT_PROCESS_FLIGHT_H
#define EXPORT_PROCESS_FLIGHT_H

#include "export/process.h"

/* Its journal has just been opened. `write`: what is to be done with steps that were kept; gets the process. */
void process_flight_start(struct process *p, void (*write)(void *process, struct model_step *m));

/* For the sink: STEP_TRIGGERED was read. */
void process_triggered(void *process, struct ingest *f, const struct rec_step *step);

/* Live, after each pass: answers who asked for what is kept, in the library's stead too where the process hangs. */
void process_flight_serve(struct process *p);

/* Nothing more will come. */
void process_flight_end(struct process *p, enum flight_why why);

#endif
