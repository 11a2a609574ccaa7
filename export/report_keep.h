/* A live process's part of the report, made anew as its recorded steps close. */
#ifndef EXPORT_REPORT_KEEP_H
#define EXPORT_REPORT_KEEP_H

#include "export/process.h"
#include "export/report.h"

struct report_keep {
	struct report_process *report; /* held; NULL: none was made yet */
	size_t n_steps;		       /* that it is of, and of which training: struct follow's */
	uint32_t training;
	uint64_t next_ms;
	bool is_final;
};

/*
 * Makes it anew if steps have closed since, it is time, or the process has ended. `is_last`: nobody will ask again. Whether it
 * was.
 */
bool report_keep_update(struct report_keep *k, struct process *p, uint64_t now_ms, bool is_last);

/* The last one that was made, or what can be said without the analysis; the caller holds it. */
struct report_process *report_keep_get(const struct report_keep *k, const struct process *p);

#endif
