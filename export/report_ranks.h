/* Compares the ranks of one job, to find the rank that the others wait for. */
#ifndef EXPORT_REPORT_RANKS_H
#define EXPORT_REPORT_RANKS_H

#include "export/report.h"
#include "export/textout.h"

/*
 * Compares the processes. Fills in their waits for each other (report_meetings.h) and `r->ranks`.
 * Sets `r->ranks` to NULL if fewer than two ranks have figures, or if two processes have the same
 * rank (several jobs).
 */
void report_compare(struct report *r);

/* Prints the table of ranks, if the report has one. */
void report_ranks_say(struct textout *o, const struct report *r);
/* Prints what the GPUs of all ranks do, and who waits for whom. */
void report_ranks_say_use(struct textout *o, const struct report *r);
/* Prints one line about the straggler, if there is one. */
void report_ranks_say_straggler(struct textout *o, const struct report *r);

/* Returns the straggler's process, or NULL. */
const struct report_process *report_ranks_straggler(const struct report *r);

#endif
