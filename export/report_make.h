/* The report of a run's folder, or of one journal: from the journals where they are whole, else what the collector left. */
#ifndef EXPORT_REPORT_MAKE_H
#define EXPORT_REPORT_MAKE_H

#include "core/runtime/err.h"
#include "core/util/vec.h"

#include <jansson.h>
#include <stdbool.h>

struct report_made {
	json_t *root;
	json_t *run; /* what the first journal knows of the run */
	VEC(char *)
	diagnostics; /* one line each: what the figures rest on, journals that cannot be read */
	bool has_bad_journal;
};

/* 0, or -errno with one line. */
int report_make(const char *folder, struct report_made *r, struct err *e);
int report_make_from_journal(const char *path, struct report_made *r, struct err *e);
void report_made_free(struct report_made *r);

/* Takes away processes that gave the GPU nothing to do, if there are others, and says in `run` how many. */
void report_omit_silent(json_t *root);

#endif
