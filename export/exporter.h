/* What a format provides: one file per format, one row in core/runtime/formats.h. */
#ifndef EXPORT_EXPORTER_H
#define EXPORT_EXPORTER_H

#include "core/analysis/analyzer.h"
#include "core/runtime/err.h"
#include "core/runtime/formats.h"
#include "export/trace_count.h"

/* Takes a file's bytes, piece by piece. */
typedef void exporter_sink(void *context, const void *bytes, size_t n);

struct exporter {
	const char *name;   /* as in --format and PROF_FORMAT */
	const char *folder; /* below the run's folder */
	const char *suffix; /* of a step's file */
	const char *noun;   /* what a file is called, "trace" */
	const char *title;  /* what `profrun info` calls it; NULL without `count` */
	const char *viewer; /* where it can be opened */
	/* Returns true if the step holds nothing that the format shows; `why_empty` says why that
	 * may be. NULL: there is always something. */
	bool (*is_empty)(const struct model_step *step);
	const char *why_empty;
	/* Encodes one step. The file is compressed with gzip. NULL: */
	void (*encode)(const struct analyzed_step *step, exporter_sink *sink, void *context);
	/* Writes one step to `path`, completely or not at all. Returns 0 or -errno. */
	int (*write_step)(const struct analyzed_step *step, const char *path, struct err *e);
	/* Counts what is in a file. Returns 0, or -errno with one line. NULL: it cannot. */
	int (*count)(const char *path, struct trace_count *count, struct err *e);
};

#define X(name, what) extern const struct exporter exporter_##name;
FORMATS(X)
#undef X

enum { EXPORTERS_MOST = 16 };

/* Returns NULL if no entry has that name. */
const struct exporter *exporter_find(const char *name);

/* Returns the formats in order, NULL after the last. */
const struct exporter *exporter_at(size_t i);

/* Parses "perfetto,csv". Returns the number of formats, or -EINVAL with one line in `e`. */
int exporters_parse(const char *list, const struct exporter *found[EXPORTERS_MOST], struct err *e);

/* Writes one step to `path`, completely or not at all. Returns 0 or -errno. */
int exporter_write_step(const struct exporter *x, const struct analyzed_step *step,
			const char *path, struct err *e);

#endif
