/* What a format has to offer: one file per format, one row in exporters.c. */
#ifndef EXPORT_EXPORTER_H
#define EXPORT_EXPORTER_H

#include "core/analysis/analyzer.h"
#include "core/runtime/err.h"

struct exporter {
	const char *name;   /* as in --format and PROF_FORMAT */
	const char *folder; /* below the run's folder */
	const char *suffix; /* of a step's file */
	const char *noun;   /* what a file is called, "trace" */
	const char *viewer; /* where it can be looked at */
	/* Whether nothing of what the format shows is in the step, and why that may be; NULL: there is always something. */
	bool (*is_empty)(const struct model_step *step);
	const char *why_empty;
	/* Writes one step to `path`, whole or not at all. 0 or -errno. */
	int (*write_step)(const struct analyzed_step *step, const char *path, struct err *e);
};

extern const struct exporter exporter_perfetto, exporter_memory;

enum { EXPORTERS_MOST = 16 };

/* NULL: there is none of that name. */
const struct exporter *exporter_find(const char *name);

/* Each in its iteration; NULL behind the last. */
const struct exporter *exporter_at(size_t i);

/* "perfetto,csv" to rows; the number of them, or -EINVAL with one line in `e`. */
int exporters_parse(const char *list, const struct exporter *found[EXPORTERS_MOST], struct err *e);

#endif
