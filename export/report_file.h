/* DIR/report.json and DIR/report.txt. The collector writes both during a run and at its end.
 * Commands read report.json if journals are incomplete. */
#ifndef EXPORT_REPORT_FILE_H
#define EXPORT_REPORT_FILE_H

#include "core/runtime/err.h"
#include "export/report.h"

/* Fills `r->run` from the folder's run.json, except for the number of silent processes. */
void report_read_run(struct report *r, const char *folder);

/* Writes both files, each completely or not at all. Returns 0, or -errno with one line in `e`. */
int report_save(const char *folder, const struct report *r, struct err *e);

/* Writes report.html, completely or not at all. Only at the end of a run, because the page is
 * large. Returns 0, or -errno with one line in `e`. */
int report_save_html(const char *folder, const struct report *r, struct err *e);

/* Reads report.json. Returns false and an empty report if the file is missing, or if this version
 * does not understand it. The caller frees the report in both cases. */
bool report_load(struct report *r, const char *folder);

#endif
