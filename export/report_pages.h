/* The pages of the text report, below its first screen. */
#ifndef EXPORT_REPORT_PAGES_H
#define EXPORT_REPORT_PAGES_H

#include "export/report.h"
#include "export/textout.h"

struct report_view {
	struct textout *out;
	const struct report_process *process;
	const char *cwd; /* paths below it are shown relative to it */
	unsigned top;	 /* rows of a list */
};

/* All pages that have content for the process. */
void report_pages(const struct report_view *v);

#endif
