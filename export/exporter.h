/* The interface of an output format. Each format has its own file and one row in
 * core/runtime/formats.h. */
#ifndef EXPORT_EXPORTER_H
#define EXPORT_EXPORTER_H

#include "core/analysis/analyzer.h"
#include "core/runtime/err.h"
#include "core/runtime/formats.h"
#include "export/trace_count.h"

/* Receives the bytes of a file, piece by piece. */
typedef void exporter_sink(void *context, const void *bytes, size_t n);

struct exporter {
	const char *name;   /* as in --format and PROF_FORMAT */
	const char *folder; /* folder of its files, below the run's folder */
	const char *suffix; /* how the name of a step's file ends */
	const char *noun;   /* word for a file of this format, "trace" */
	const char *title;  /* heading in `profrun info`; NULL without `count` */
	const char *viewer; /* where a user can open a file */
	/* Returns true if the step contains nothing that the format shows; `why_empty` gives the
	 * possible reason. NULL: a step is never empty. */
	bool (*is_empty)(const struct model_step *step);
	const char *why_empty;
	/* One file contains the steps of a whole window (docs/steps.md) instead of one step. */
	bool has_windows;
	bool is_plain; /* files are not compressed with gzip */
	/* Writes the name of a file that begins with this step, below `folder`. NULL: the name is
	 * <rank or pid>/step-<N><suffix>. */
	void (*name_file)(const struct model_step *first, char *to, size_t bytes);
	/* The suffixes of the files that the format writes instead of one, ended by NULL; `suffix`
	 * is replaced by them. NULL: one file. */
	const char *const *suffixes;
	/*
	 * Begins a file, and returns its state. add() adds a step; steps come in order of time, and
	 * are valid only during the call. end() writes the rest and frees the state. The bytes go
	 * to `sink`; the caller compresses and writes them.
	 */
	void *(*begin)(exporter_sink *sink, void *context);
	void (*add)(void *file, const struct analyzed_step *step);
	void (*end)(void *file);
	/*
	 * For formats that write files themselves, instead of begin() and end(). open() begins a
	 * file in the folder of `path`. close() gives it the name `path`, or removes it if `path`
	 * is NULL. Both return 0, or -errno with one line in `e`.
	 */
	int (*open)(void **file, const char *path, struct err *e);
	int (*close)(void *file, const char *path, struct err *e);
	/* For formats whose files cannot hold several steps, instead of all functions above. Writes
	 * one step to `path`, completely or not at all. Returns 0 or -errno. */
	int (*write_step)(const struct analyzed_step *step, const char *path, struct err *e);
	/* Counts what a file contains. Returns 0, or -errno with one line in `e`. NULL: the format
	 * cannot count. */
	int (*count)(const char *path, struct trace_count *count, struct err *e);
};

#define X(name, what) extern const struct exporter exporter_##name;
FORMATS(X)
#undef X

enum { EXPORTERS_MOST = 16 };

/* Returns the format with that name, or NULL. */
const struct exporter *exporter_find(const char *name);

/* Returns the format at index `i`, or NULL after the last one. */
const struct exporter *exporter_at(size_t i);

/* Parses a list such as "perfetto,csv". Returns the number of formats, or -EINVAL with one line in
 * `e`. */
int exporters_parse(const char *list, const struct exporter *found[EXPORTERS_MOST], struct err *e);

#endif
