/* Prints the head of a report: what ran, how it ended, and its steps. */
#ifndef EXPORT_REPORT_HEAD_H
#define EXPORT_REPORT_HEAD_H

#include "export/report.h"
#include "export/textout.h"

/* Prints "python train.py: exit 0 after 12.3 s, 400 steps of 12.44 ms (median; p95 15.23)" on one
 * line or two. `p`: NULL: no process has figures. */
void report_head_say(struct textout *o, const struct report *r, const struct report_process *p);

/* Returns the command without the folder of its program. */
const char *report_own_command(const char *command);

/* Writes the command that the user typed. If there are several processes that are not ranks, writes
 * the process's own command, because each process may run another program. `p` may be NULL. */
void report_head_command(char *to, size_t bytes, const struct report *r,
			 const struct report_process *p);

/* Writes "rank 3" or "process 123". Returns `to`. */
char *report_name_of(char *to, size_t bytes, const struct report_process *p);

#endif
