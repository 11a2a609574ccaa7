/* The parts of report.html about the profiler itself: what is not available, its cost, settings. */
#ifndef EXPORT_HTML_ABOUT_H
#define EXPORT_HTML_ABOUT_H

#include "export/html_table.h"
#include "export/report.h"

/* Writes which figures are missing, and why. */
void html_unavailable(const struct html_view *v, const struct report_process *p);

/* Writes what profiling cost, and what was lost. */
void html_self(const struct html_view *v, const struct report_process *p);

/* Writes the settings and the facts of the run. `runfile`: run.json; NULL: there is none. */
void html_settings(struct html_out *o, const struct report *r, const json_t *runfile);

#endif
