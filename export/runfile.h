/* DIR/run.json, which describes a run. `profrun run` writes the member "run"; the collector or
 * `profrun export` writes the other members. */
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

/* Returns run.json; the caller owns the reference. If the file is missing or unreadable, returns an
 * object with this host's name and no processes. */
json_t *runfile_load(const char *folder);

/* Replaces run.json completely or not at all. Returns 0, or -errno with one line in `e`. */
int runfile_save(const char *folder, json_t *root, struct err *e);

/* Returns the entry of the process that wrote `journal` ("journal/123.journal"), or NULL. The
 * reference is borrowed from `root`. */
json_t *runfile_process(const json_t *root, const char *journal);

#endif
