/* DIR/report.json and DIR/report.txt: written by the collector while a run goes on and at its end, read where journals are not whole. */
#ifndef EXPORT_REPORT_FILE_H
#define EXPORT_REPORT_FILE_H

#include "core/runtime/err.h"

#include <jansson.h>

/* {schema, run, processes}: `run` from the folder's run.json; takes `processes` over. New reference. */
json_t *report_root(const char *folder, json_t *processes);

/* What run.json has to say by now. */
void report_reread_run(const char *folder, json_t *root);

/* Both files, each whole or not at all. */
int report_save(const char *folder, const json_t *root, struct err *e);

/* NULL if there is none, or none that this version understands. New reference. */
json_t *report_load(const char *folder);

/* A process's part in it, by its journal ("journal/123.journal"), or NULL. */
json_t *report_find(const json_t *root, const char *journal);

#endif
