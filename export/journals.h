/* The journals of a run's folder. */
#ifndef EXPORT_JOURNALS_H
#define EXPORT_JOURNALS_H

#include "core/runtime/err.h"
#include "core/runtime/record.h"
#include "core/util/vec.h"

#include <jansson.h>
#include <stdbool.h>

struct journals {
	VEC(char *) paths; /* by the moment at which their processes began to use CUDA */
};

/* 0, or -errno with one line: no folder, or nothing in it. */
int journals_list(struct journals *j, const char *folder, struct err *e);
/* False where it cannot be read; that it is a journal's is for the reader to say. */
bool journals_header(const char *path, struct journal_header *h);
/* Whether a file is one, whatever its name. */
bool journals_is_one(const char *path);

void journals_free(struct journals *j);

/* Ranks that PROF_RANKS left out (preload/rank.h), in order. New reference; empty where there are none. */
json_t *journals_ranks_left_out(const char *folder);

#endif
