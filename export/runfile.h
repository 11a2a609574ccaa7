/*
 * DIR/run.json, which describes a run. `profrun run` writes its first half; the collector or
 * `export` writes the processes.
 */
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
	struct arena arena; /* owns all texts and lists */
};

void runfile_read(struct runfile *r, const json_t *root);
void runfile_free(struct runfile *r);

/*
 * Returns run.json as a new reference. If it is missing or unreadable: an object with this host and
 * no processes.
 */
json_t *runfile_load(const char *folder);

/* Replaces the file, whole or not at all. Returns 0 or -errno. */
int runfile_save(const char *folder, json_t *root, struct err *e);

/* Returns the process of that journal ("journal/123.journal"), borrowed, or NULL. */
json_t *runfile_process(const json_t *root, const char *journal);

#endif
