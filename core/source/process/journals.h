/* Lists the journals in a run's folder, and reads single facts from their headers. */
#ifndef CORE_JOURNALS_H
#define CORE_JOURNALS_H

#include "core/runtime/err.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct journals {
	VEC(char *) paths; /* in the order in which their processes began to use CUDA */
};

/*
 * Lists the journals in `folder`; free with journals_free(). Returns 0. Returns -errno with one
 * line in `e` if there is no folder or no journal in it (-ENODATA: the folder of a run, without a
 * complete journal).
 */
int journals_list(struct journals *j, const char *folder, struct err *e);
/* Returns whether the file at `path` is a journal. Checks its first bytes, not its name. */
bool journals_is_one(const char *path);

void journals_free(struct journals *j);

/*
 * Returns when the last process with a journal in `folder` began to use CUDA, in ns of
 * CLOCK_REALTIME; 0: there is no journal.
 */
uint64_t journals_began(const char *folder);

/* Returns the pid of the collector that reads the journal, 0 if there is none. */
uint32_t journals_collector(const char *path);

typedef VEC(int64_t) journals_ranks;

/*
 * Returns the ranks that PROF_RANKS excluded (preload/rank.h), in ascending order. Free with
 * vec_free().
 */
journals_ranks journals_ranks_left_out(const char *folder);

#endif
