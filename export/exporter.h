/* What a format has to offer: one file per format, one row in exporters.c. */
#ifndef EXPORT_EXPORTER_H
#define EXPORT_EXPORTER_H

#include "core/err.h"
#include "core/model.h"

struct exporter {
	const char *name;   /* as in --format and PROF_FORMAT */
	const char *folder; /* below the run's folder */
	const char *suffix; /* of a step's file */
	/* Writes one step to `path`, whole or not at all. 0 or -errno. */
	int (*write_step)(const struct model_step *step, const char *path, struct err *e);
};

extern const struct exporter exporter_perfetto, exporter_memory;

enum { EXPORTERS_MOST = 16 };

/* "perfetto,csv" to rows; the number of them, or -EINVAL with one line in `e`. */
int exporters_parse(const char *list, const struct exporter *found[EXPORTERS_MOST], struct err *e);

#endif
