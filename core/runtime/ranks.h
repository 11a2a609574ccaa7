/*
 * Which process of a job this one is, by what its launcher put into the environment, and which of them are profiled (PROF_RANKS).
 * Runs in the application and in the tools; no memory of its own, any thread.
 */
#ifndef CORE_RANKS_H
#define CORE_RANKS_H

#include "core/runtime/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a variable's value is asked for: of the environment, or of what a journal says of the process. NULL or "": not set. */
typedef const char *ranks_lookup(void *context, const char *name);

/* The variable's value as a rank, a plain number below 10^9; -1: it is none. */
long ranks_number(const char *text);

/* Whether these `length` bytes name one that is asked for here. */
bool ranks_is_variable(const char *name, size_t length);

/* The process's rank in its job as its launcher wrote it, NULL where none did. `variable` (may be NULL): who said so. */
const char *ranks_own(ranks_lookup *lookup, void *context, const char **variable);

/* Processes that the job has on this machine, as far as it is told; 0: it is not. */
long ranks_local_size(ranks_lookup *lookup, void *context);

/* The variables that ranks_local_size() asks, in order; `i` from 0, NULL behind the last. */
const char *ranks_size_variable(unsigned i);

/* Checks "all" or a list like "0,3-5": 0, or -EINVAL with one line in `e` (may be NULL). */
int ranks_check(const char *list, struct err *e);

/* Whether `rank` is in a list that ranks_check() has accepted. */
bool ranks_has(const char *list, long rank);

/*
 * How long one rank waits for the others to know their steps, from when it knows its own, in the unit of `elapsed` per second:
 * they make the same steps and learn at the same pace, so a few steps' time is plenty, and less than 20 s never is.
 */
double ranks_patience_s(double elapsed_s, uint64_t steps);

#endif
