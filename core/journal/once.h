/* Calls that took long once: code that had to be loaded or compiled, contexts, graphs. Most are made before the first recorded step. */
#ifndef CORE_ONCE_H
#define CORE_ONCE_H

#include "core/journal/dict.h"
#include "core/journal/timebase.h"

struct once_call {
	uint64_t ticks; /* of all of them */
	uint64_t token; /* LAUNCH */
	uint32_t stack, n;
	uint16_t hook;
};

struct once {
	struct map place;
	VEC(struct once_call) calls;
	uint64_t long_ticks;
};

void once_set_clock(struct once *o, const struct timebase *time);
void once_add(struct once *o, const struct dict *d, const struct rec_call *c);
void once_free(struct once *o);

#endif
