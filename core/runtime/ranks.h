/*
 * Determines which rank of a job this process is, and which ranks are profiled (PROF_RANKS). The
 * rank is read from environment variables that the launcher of the job has set. Runs in the
 * application and in the tools. Has no state, so any thread may call these functions.
 */
#ifndef CORE_RANKS_H
#define CORE_RANKS_H

#include "core/runtime/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A callback that returns the value of a variable, from the environment or from the facts that a
 * journal contains about a process. NULL or "": the variable is not set. */
typedef const char *ranks_lookup(void *context, const char *name);

/* Returns the rank that `text` (may be NULL) contains: a number of decimal digits below 10^9. -1:
 * `text` is not a rank. */
long ranks_number(const char *text);

/* Returns whether the `length` bytes at `name` are the name of a variable that this module
 * reads. */
bool ranks_is_variable(const char *name, size_t length);

/*
 * Returns the process's rank as the launcher wrote it, NULL if no variable contains a rank. Writes
 * the name of the variable to `variable` (may be NULL).
 */
const char *ranks_own(ranks_lookup *lookup, void *context, const char **variable);

/*
 * Returns how many processes the job has on this machine, or in total if only that is known. 0: the
 * environment does not contain it.
 */
long ranks_local_size(ranks_lookup *lookup, void *context);

/* Returns the name of the `i`-th variable, from 0, that ranks_local_size() reads; NULL after the
 * last. */
const char *ranks_size_variable(unsigned i);

/* Checks "all" or a list like "0,3-5". Returns 0, or -EINVAL with one line in `e` (may be NULL). */
int ranks_check(const char *list, struct err *e);

/* Returns whether `rank` is in a list that ranks_check() has accepted. */
bool ranks_has(const char *list, long rank);

/*
 * Returns how many seconds a rank that has detected its steps waits for the other ranks to detect
 * their steps. The rank has made `steps` steps in `elapsed_s` seconds. All ranks make the same
 * steps and detect them after about the same number of steps. So the time of 8 steps is long
 * enough; the minimum is 20 s.
 */
double ranks_patience_s(double elapsed_s, uint64_t steps);

#endif
