/* The interface of an output format. Each has a file and a row in exporters.c. */
#ifndef EXPORT_EXPORTER_H
#define EXPORT_EXPORTER_H

#include "core/analysis/analyzer.h"
#include "core/runtime/err.h"

struct exporter {
	const char *name;   /* as in --format and PROF_FORMAT */
	const char *folder; /* below the run's folder */
	const char *suffix; /* of a step's file */
	const char *noun;   /* what messages call a file: "trace" */
	const char *viewer; /* where to open it */
	/*
	 * Returns whether the step has nothing that the format shows. `why_empty`: the likely
	 * reason. NULL: a step is never empty.
	 */
	bool (*is_empty)(const struct model_step *step);
	const char *why_empty;
	/* Writes one step to `path`, whole or not at all. Returns 0 or -errno. */
	int (*write_step)(const struct analyzed_step *step, const char *path, struct err *e);
};

extern const struct exporter exporter_perfetto, exporter_memory;

enum { EXPORTERS_MOST = 16 };

/* Returns NULL if no format has that name. */
const struct exporter *exporter_find(const char *name);

/* Returns the i-th format, NULL after the last. */
const struct exporter *exporter_at(size_t i);

/* Parses "perfetto,memory". Returns the number of formats, or -EINVAL with a message. */
int exporters_parse(const char *list, const struct exporter *found[EXPORTERS_MOST], struct err *e);

#endif
