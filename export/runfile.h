/* DIR/run.json: what a run is about. `run` writes its first half, whoever makes traces the processes. */
#ifndef EXPORT_RUNFILE_H
#define EXPORT_RUNFILE_H

#include "core/runtime/err.h"
#include "export/report.h"

#include <jansson.h>

struct runfile {
	struct report_run run;
	LIST(struct process_facts) processes;
	LIST(const char *) messages;
	LIST(int64_t) ranks_left_out;
	struct arena arena; /* of all its texts and lists */
};

void runfile_read(struct runfile *r, const json_t *root);
void runfile_free(struct runfile *r);

/* An empty object with this host where there is none yet, or none that can be read. New reference. */
json_t *runfile_load(const char *folder);

/* Whole or not at all. */
int runfile_save(const char *folder, json_t *root, struct err *e);

/* A process's part of it, by its journal ("journal/123.journal"), or NULL. */
json_t *runfile_process(const json_t *root, const char *journal);

#endif
