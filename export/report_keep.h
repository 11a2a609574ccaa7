/* A live process's part of the report, remade as its recorded steps close. */
#ifndef EXPORT_REPORT_KEEP_H
#define EXPORT_REPORT_KEEP_H

#include "export/process.h"
#include "export/report.h"

struct report_keep {
	struct report_process *report; /* held; NULL: none was made yet */
	size_t n_steps;		       /* that it covers; `training` as in struct run */
	uint32_t training;
	uint64_t next_ms;
	bool is_final;
};

/*
 * Remakes it if steps have closed since and enough time has passed, or if the process has ended.
 * `is_last`: there is no later call. Returns whether it was remade.
 */
bool report_keep_update(struct report_keep *k, struct process *p, uint64_t now_ms, bool is_last);

/* Returns the last one that was made, or what is known without an analysis; the caller holds it. */
struct report_process *report_keep_get(const struct report_keep *k, const struct process *p);

#endif
