/* The part of report.html about one process. */
#ifndef EXPORT_HTML_PROCESS_H
#define EXPORT_HTML_PROCESS_H

#include "export/html_table.h"

/* Writes all parts about the process `v->of` of the report. */
void html_process(const struct html_view *v, const struct report *r);

#endif
