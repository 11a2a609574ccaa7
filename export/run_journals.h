/* The journals of a run, for the commands that read a run's folder. */
#ifndef EXPORT_RUN_JOURNALS_H
#define EXPORT_RUN_JOURNALS_H

#include "core/source/process/journals.h"

/*
 * Like journals_list(). Also removes what dead processes left unfinished in the folder, if it is
 * the folder of a run, even if no process of the run lived to complete its journal.
 */
int run_journals(struct journals *j, const char *folder, struct err *e);

#endif
