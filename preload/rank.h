/* This process's place among the ranks of its job: whether it is profiled at all (PROF_RANKS), and what the journal says of it. At arming. */
#ifndef PRELOAD_RANK_H
#define PRELOAD_RANK_H

#include <stdbool.h>

/*
 * Whether PROF_RANKS (`list`) leaves this process out. A process of no job is never left out. Where it is, `folder` (the run's;
 * "": none was named) gets an empty file that says so, journal/rank-<N>.left-out, for run.json.
 */
bool rank_is_left_out(const char *list, const char *folder);

/* Rank and sizes of the job, for the journal. */
void rank_describe(void);

/* Whether other ranks of the job run on this machine, as far as the environment tells. */
bool rank_has_company(void);

#endif
