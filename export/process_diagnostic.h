/* What the user should know about a process's steps, in `diagnostic`, which the run's summary and the report say. */
#ifndef EXPORT_PROCESS_DIAGNOSTIC_H
#define EXPORT_PROCESS_DIAGNOSTIC_H

#include "export/process.h"

/* Its steps are slices of time. */
void process_explain_slices(struct process *p);

/* The schedule was applied afterwards: while the steps went on, nobody knew that they were ones to time. */
void process_explain_late_steps(struct process *p);

/* No step was recorded. */
void process_explain_nothing_recorded(struct process *p);

#endif
