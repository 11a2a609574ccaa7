/* Prints the figures of the first screen: GPU utilization, idle time by cause, phases, memory
 * growth. */
#ifndef EXPORT_REPORT_FIGURES_H
#define EXPORT_REPORT_FIGURES_H

#include "export/report.h"
#include "export/textout.h"

/* Paths below `cwd` are shown relative to it. */
void report_figures_say(struct textout *o, const struct report_process *p, const char *cwd);

#endif
