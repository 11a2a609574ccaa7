/* Finds calls that took long a single time, mostly before the first recorded step: see struct
 * run_once. */
#ifndef CORE_ONCE_H
#define CORE_ONCE_H

#include "core/model/run.h"
#include "core/source/journal/dict.h"
#include "core/source/journal/timebase.h"

struct once {
	struct map place; /* -> index in the run's `once` */
	uint64_t long_ticks;
};

void once_set_clock(struct once *o, const struct timebase *time);
/* Adds the call to the run if it took long. */
void once_add(struct once *o, struct run *run, const struct dict *d, const struct timebase *time,
	      const struct rec_call *c);
void once_free(struct once *o);

#endif
