/* Traces of other tools, as the commands use them: torch.profiler's files, one for each rank. */
#ifndef EXPORT_FOREIGN_H
#define EXPORT_FOREIGN_H

#include "core/runtime/err.h"
#include "core/source/kineto/kineto.h"
#include "core/util/vec.h"
#include "export/analysis.h"
#include "export/exporter.h"
#include "export/report.h"
#include "export/step_files.h"

#include <stdbool.h>

struct foreign_files {
	VEC(char *) paths; /* sorted by name */
};

/*
 * Lists the traces at `path`: the file itself, or the files of a folder that end in .json or
 * .json.gz. Returns false if there are none. Free with foreign_files_free() in any case.
 */
bool foreign_list(struct foreign_files *files, const char *path);
void foreign_files_free(struct foreign_files *files);

/* Returns whether `path` has traces and no journals: a file, or a folder. */
bool foreign_is_at(const char *path);

struct foreign;

/* Where the steps of traces are written: FOLDER/<rank or file name>/step-<N>.* (step_files.h). */
struct foreign_output {
	const struct exporter *formats[EXPORTERS_MOST];
	int n_formats;
	struct step_choice steps;
	const char *folder;
	/* Also receives each analyzed step; NULL: nothing does. */
	void (*take_step)(void *context, const struct analyzed_step *step);
	void *take_context;
};

/*
 * Loads and analyzes one trace. Writes the steps to `out`, unless it is NULL; `out` must
 * outlive the result. Returns 0, or -errno with one line in `e`. Free `*to` with
 * foreign_close().
 */
int foreign_open(struct foreign **to, const char *path, const struct foreign_output *out,
		 struct err *e);
void foreign_close(struct foreign *f);

struct analysis *foreign_analysis(struct foreign *f);
const struct kineto *foreign_trace(const struct foreign *f);
/* Returns the number of files written. */
uint64_t foreign_n_written(const struct foreign *f);

/* Fills in what the trace says about its process. Texts and lists belong to `a`. */
void foreign_describe(const struct foreign *f, struct process_facts *to, struct arena *a);

/* Analyzes one trace. Returns NULL with one line in `e` if the file is no trace. Free the result
 * with report_process_drop(). Describes the run in `run`, whose texts belong to `arena`. */
struct report_process *foreign_report(const char *path, struct report_run *run, struct arena *arena,
				      struct err *e);

#endif
