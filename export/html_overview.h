/* The first screen of report.html. */
#ifndef EXPORT_HTML_OVERVIEW_H
#define EXPORT_HTML_OVERVIEW_H

#include "export/html_table.h"
#include "export/report.h"

/* Writes what limits the process, the estimated savings, and the charts of steps. */
void html_overview(const struct html_view *v, const struct report *r,
		   const struct report_process *p);

#endif
