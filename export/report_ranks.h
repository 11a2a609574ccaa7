/* Compares the ranks of one job: which of them the others wait for. */
#ifndef EXPORT_REPORT_RANKS_H
#define EXPORT_REPORT_RANKS_H

#include "export/report.h"
#include "export/textout.h"

/*
 * Compares the processes: fills in their waits for each other (report_meetings.h) and `r->ranks`,
 * which is NULL where fewer than two ranks have figures, or two processes have one rank (several
 * jobs).
 */
void report_compare(struct report *r);

/* The table of ranks; nothing if the report has none. */
void report_ranks_say(struct textout *o, const struct report *r);
/* One line about the straggler; nothing if there is none. */
void report_ranks_say_straggler(struct textout *o, const struct report *r);

/* Returns the straggler's process, or NULL. */
const struct report_process *report_ranks_straggler(const struct report *r);

#endif
