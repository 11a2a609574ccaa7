/* The ranks of one job side by side: which of them the others wait for. Works on report.json's processes. */
#ifndef EXPORT_REPORT_RANKS_H
#define EXPORT_REPORT_RANKS_H

#include "export/textout.h"

#include <jansson.h>

/*
 * {list: [{rank, pid, step_ms, collective_ms, data_ms, ...}], straggler: {rank, ms_per_step, phase, phase_ms} or null}; NULL where
 * fewer than two ranks have figures, or two processes have one rank (several jobs). New reference.
 */
json_t *report_ranks(const json_t *processes);

/* The table. Nothing where the report has no ranks. */
void report_ranks_say(struct textout *o, const json_t *root);
/* The sentence about the straggler. */
void report_ranks_say_straggler(struct textout *o, const json_t *root);

/* The straggler's process, or NULL. */
const json_t *report_ranks_straggler(const json_t *root);

#endif
