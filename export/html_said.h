/* Parts of the text report as HTML. */
#ifndef EXPORT_HTML_SAID_H
#define EXPORT_HTML_SAID_H

#include "export/html_out.h"
#include "export/report.h"
#include "export/textout.h"

struct html_said_of {
	const struct report *report;
	const struct report_process *process;
	const char *cwd;
};

/* Writes what `say` prints as paragraphs of the class. Lines that continue a line are joined to it.
 * Returns whether there was anything. */
bool html_said(struct html_out *o, const char *class,
	       void (*say)(struct textout *to, const struct html_said_of *of),
	       const struct html_said_of *of);

#endif
