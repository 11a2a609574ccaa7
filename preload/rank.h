/*
 * This process's rank in its job. Decides whether the process is profiled at all (PROF_RANKS), and
 * writes the rank to the journal. Used at startup.
 */
#ifndef PRELOAD_RANK_H
#define PRELOAD_RANK_H

#include <stdbool.h>

/* Returns whether PROF_RANKS (`list`) excludes this process. A process that does not belong to a
 * job is never excluded. For an excluded process, creates the empty file journal/rank-<N>.left-out
 * in the run's `folder`, from which run.json lists it. `folder` "": creates no file. */
bool rank_is_left_out(const char *list, const char *folder);

/* Writes the rank and the job's sizes to the journal, if the environment contains them. */
void rank_describe(void);

/* Returns whether the environment says that other ranks of the job run on this machine. */
bool rank_has_peers(void);

#endif
