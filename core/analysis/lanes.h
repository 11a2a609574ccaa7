/*
 * Threads that take turns on the CPU form one lane. For example, PyTorch's main thread waits while
 * its autograd thread launches. What the CPU did before a launch is determined per lane. A thread
 * that neither launches GPU work, waits for it nor allocates memory is a lane of its own.
 */
#ifndef CORE_LANES_H
#define CORE_LANES_H

#include "core/analysis/timeline.h"

struct lanes {
	uint32_t *of_thread; /* by thread of the timeline: number of its lane */
	uint32_t n;	     /* number of lanes */
	uint32_t main;	     /* the lane with most launches */
};

/* Collects, step by step, how long the timeline's threads overlap. One owner, no locks. */
struct lane_finder;

struct lane_finder *lane_finder_new(void);
void lane_finder_free(struct lane_finder *f);

/* Adds the calls of one step, which must be the timeline's newest. */
void lane_finder_add(struct lane_finder *f, const struct timeline *t,
		     const struct timeline_step *step);

/* Assigns the timeline's threads to lanes, based on the steps added so far. Free the result with
 * lanes_free(). */
void lane_finder_assign(const struct lane_finder *f, const struct timeline *t, struct lanes *l);

/* Assigns the timeline's threads to lanes, based on all its steps. Free the result with
 * lanes_free(). */
void lanes_find(struct lanes *l, const struct timeline *t);
/* Like lanes_find(), based on the `n_steps` steps from `first_step` on. */
void lanes_find_in(struct lanes *l, const struct timeline *t, size_t first_step, size_t n_steps);
void lanes_free(struct lanes *l);

#endif
