/*
 * DIR/report.json and DIR/report.txt: written by the collector during a run and at its end, read
 * where journals are not whole.
 */
#ifndef EXPORT_REPORT_FILE_H
#define EXPORT_REPORT_FILE_H

#include "core/runtime/err.h"
#include "export/report.h"

/* Fills `r->run` from the folder's run.json as that is now. */
void report_read_run(struct report *r, const char *folder);

/* Writes both files, each whole or not at all. */
int report_save(const char *folder, const struct report *r, struct err *e);

/*
 * Returns false and an empty report if there is none, or none that this version understands. Free
 * it either way.
 */
bool report_load(struct report *r, const char *folder);

#endif
