/*
 * Finds calls that took unusually long, mostly once and before the first recorded step: they loaded
 * or compiled code, or created a context. See struct run_once.
 */
#ifndef CORE_ONCE_H
#define CORE_ONCE_H

#include "core/model/run.h"
#include "core/source/journal/dict.h"
#include "core/source/journal/timebase.h"

struct once {
	struct map place; /* hash of function, launch and stack -> index in the run's `once` */
	/* calls that take at least this many ticks are long */
	uint64_t long_ticks;
};

void once_set_clock(struct once *o, const struct timebase *time);
/* Adds the call to `run->once` if it was long. */
void once_add(struct once *o, struct run *run, const struct dict *d, const struct timebase *time,
	      const struct rec_call *c);
void once_free(struct once *o);

#endif
