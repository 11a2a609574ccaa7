/* The pages of the text report, below its first screen. */
#ifndef EXPORT_REPORT_PAGES_H
#define EXPORT_REPORT_PAGES_H

#include "export/report.h"
#include "export/textout.h"

struct report_view {
	struct textout *out;
	const struct report_process *process;
	const char *cwd; /* paths below it are shown relative to it */
	unsigned top;	 /* largest number of rows of a list */
	/* Lists with a column of this heading are sorted by it, and set *has_sorted; NULL: each
	 * list keeps its order. */
	const char *sort;
	bool *has_sorted;
};

/* Prints all pages for which the process has content. */
void report_pages(const struct report_view *v);

#endif
