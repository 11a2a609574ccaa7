/*
 * Determines which rank of a job this process is, from the environment that its launcher set, and
 * which ranks are profiled (PROF_RANKS). Runs in the application and in the tools; has no state;
 * any thread.
 */
#ifndef CORE_RANKS_H
#define CORE_RANKS_H

#include "core/runtime/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Looks up a variable, in the environment or in a journal's facts about a process. NULL or "": not
 * set. */
typedef const char *ranks_lookup(void *context, const char *name);

/* Returns `text` as a rank, a plain number below 10^9; -1 if it is not one. */
long ranks_number(const char *text);

/* Returns whether these `length` bytes name a variable that this module reads. */
bool ranks_is_variable(const char *name, size_t length);

/* Returns the process's rank as its launcher wrote it, NULL if no launcher did. `variable` (may be
 * NULL) gets the name of the variable that has it. */
const char *ranks_own(ranks_lookup *lookup, void *context, const char **variable);

/* Returns how many processes the job has on this machine, 0 if the environment does not say. */
long ranks_local_size(ranks_lookup *lookup, void *context);

/* Returns the `i`-th variable, from 0, that ranks_local_size() reads; NULL after the last. */
const char *ranks_size_variable(unsigned i);

/* Checks "all" or a list like "0,3-5". Returns 0, or -EINVAL with one line in `e` (may be NULL). */
int ranks_check(const char *list, struct err *e);

/* Returns whether `rank` is in a list that ranks_check() has accepted. */
bool ranks_has(const char *list, long rank);

/* Returns how many seconds a rank that has detected its steps waits for the other ranks to detect
 * theirs. The ranks make the same steps and detect them at the same pace, so the time of 8 steps is
 * plenty; the minimum is 20 s. */
double ranks_patience_s(double elapsed_s, uint64_t steps);

#endif
