/* report.html: one file without references to other files, which opens from disk and without a
 * network. */
#ifndef EXPORT_REPORT_HTML_H
#define EXPORT_REPORT_HTML_H

#include "core/runtime/err.h"
#include "export/html_out.h"
#include "export/report.h"

/* Appends the page to `o`. `runfile`: run.json, for the settings; NULL: there is none. */
void report_html(struct html_out *o, const struct report *r, const json_t *runfile);

/* Writes the page to `path`, completely or not at all. Returns 0, or -errno with one line in `e`.
 */
int report_html_save(const char *path, const struct report *r, const json_t *runfile,
		     struct err *e);

#endif
