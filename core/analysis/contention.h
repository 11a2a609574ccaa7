/*
 * CPU contention: time in which a launching thread was ready to run, but other threads had the
 * CPUs. The library records for how long a thread waited within a span of some milliseconds
 * (struct rec_cpu_wait), in which it may have made many calls. The wait is placed where it made
 * something longer than usual: between two calls of the thread's lane, or within a call of the
 * thread. The rest of it changed nothing, for example because the thread was waiting for the GPU
 * anyway.
 */
#ifndef CORE_CONTENTION_H
#define CORE_CONTENTION_H

#include "core/analysis/lanes.h"

/* For how long a CPU was waited for in a part of the step. */
struct waited {
	uint64_t ns, of_ns; /* `of_ns`: the part's length */
};

struct waited_call {
	struct waited before; /* since the lane's call before or the step's begin */
	/* Within the call. If the call waits for the GPU, the part is its end: the time after the
	 * GPU's work was done. */
	struct waited within;
	uint64_t before_all_ns; /* `before`, and what was waited at the end of the step before */
};

/* What calls and the times between them usually take. */
struct contention_usual {
	/* the newest: without the waits that were placed there, and without those that certainly
	 * were there */
	float ns[15], least_ns[15];
	uint32_t n;
};

/* A wait that may go on in the next step. */
struct contention_open {
	uint64_t end_ns, left_ns;
	uint32_t thread;
};

/* The results for the newest step, and what is kept from step to step. All zeros is empty. */
struct contention {
	VEC(struct waited_call) calls; /* by call, from the step's first call on */
	VEC(struct waited) tails;      /* by lane: after its last call, until the step's end */
	/* of the lanes' last calls: their stacks; 0: none */
	VEC(uint32_t) last;
	VEC(struct contention_open) open;
	struct map usual_of; /* of a stack, or of two successive stacks -> index in `usual` */
	VEC(struct contention_usual) usual;
};

void contention_free(struct contention *c);

/* Places the waits of the timeline's newest step. `follows`: the step directly follows the one
 * before, and the lanes are the same. */
void contention_find(struct contention *c, const struct timeline *t, const struct lanes *lanes,
		     bool follows);

#endif
