/* Makes the report of a run's folder or of one journal. Reads the journals if they are complete,
 * otherwise the report that the collector wrote. */
#ifndef EXPORT_REPORT_MAKE_H
#define EXPORT_REPORT_MAKE_H

#include "core/runtime/err.h"
#include "core/util/vec.h"
#include "export/report.h"

struct report_made {
	struct report report;
	struct report_run
		by_journal; /* the run as the first journal describes it; the report's arena owns
			     * it */
	VEC(char *)
	diagnostics; /* one line each: incomplete or unreadable journals */
	bool has_bad_journal;
};

/*
 * Return 0, or -errno with one line in `e`. After an error there is nothing to free. `step_loop`:
 * FILE-SUFFIX:LINE of the loop whose iterations are the steps; NULL: the steps that were detected.
 */
int report_make(const char *folder, const char *step_loop, struct report_made *r, struct err *e);
int report_make_from_journal(const char *path, const char *step_loop, struct report_made *r,
			     struct err *e);
/* The report of torch.profiler's traces: one file, or all files of a folder. Returns -ENOENT
 * without a line in `e` if there are none. */
int report_make_from_traces(const char *path, struct report_made *r, struct err *e);
/* The report of a run's folder, of a journal, or of torch.profiler's traces. */
int report_make_any(const char *path, const char *step_loop, struct report_made *r, struct err *e);
void report_made_free(struct report_made *r);

#endif
