/*
 * This process's rank in its job: whether it is profiled at all (PROF_RANKS), and what the journal
 * says about it. Used at startup.
 */
#ifndef PRELOAD_RANK_H
#define PRELOAD_RANK_H

#include <stdbool.h>

/* Returns whether PROF_RANKS (`list`) excludes this process. A process that belongs to no job is
 * never excluded. If it is, an empty file journal/rank-<N>.left-out is created in the run's
 * `folder` ("": none) for run.json. */
bool rank_is_left_out(const char *list, const char *folder);

/* Writes the rank and the job's sizes to the journal. */
void rank_describe(void);

/* Returns whether other ranks of the job run on this machine, if the environment says so. */
bool rank_has_peers(void);

#endif
