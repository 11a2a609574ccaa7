/*
 * Threads that take turns are one host lane: PyTorch's main thread stands still while its autograd thread launches. Whatever
 * asks what the host did before a launch asks it of the lane. A thread that neither gives a device work nor waits for one is a lane of its own.
 */
#ifndef CORE_LANES_H
#define CORE_LANES_H

#include "core/analysis/timeline.h"

struct lanes {
	uint32_t *of_thread;
	uint32_t n;
	uint32_t main; /* the one with most launches */
};

void lanes_find(struct lanes *l, const struct timeline *t);
void lanes_free(struct lanes *l);

#endif
