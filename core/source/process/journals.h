/* The journals of a run's folder. */
#ifndef CORE_JOURNALS_H
#define CORE_JOURNALS_H

#include "core/runtime/err.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct journals {
	VEC(char *) paths; /* by when their processes began to use CUDA */
};

/* Returns 0, or -errno with one line in `e`: there is no folder, or nothing in it. */
int journals_list(struct journals *j, const char *folder, struct err *e);
/* Returns whether a file is a journal, whatever its name. */
bool journals_is_one(const char *path);

void journals_free(struct journals *j);

/* Returns the pid of the collector that the journal names, 0 for none. */
uint32_t journals_collector(const char *path);

typedef VEC(int64_t) journals_ranks;

/* Returns the ranks that PROF_RANKS left out (preload/rank.h), in order; free with vec_free(). */
journals_ranks journals_ranks_left_out(const char *folder);

#endif
