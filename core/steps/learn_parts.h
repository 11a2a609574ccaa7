/* Shared by learn.c and learn_decide.c only. */
#ifndef CORE_LEARN_PARTS_H
#define CORE_LEARN_PARTS_H

#include "core/steps/learn.h"

/* Returns whether the steps are calls of a function: PROF_STEP=python. */
static inline bool learn_wants_function(const struct ingest *f)
{
	return f->reader.header->steps.wants_function;
}

/* Returns what the user, or else PROF_STEP, asks of the loops. */
struct learn_loops_wish learn_wish(const struct learn *l, const struct ingest *f);

#endif
