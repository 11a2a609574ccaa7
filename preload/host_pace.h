/* How often threads may be sampled: samples take a bounded part of a core. */
#ifndef PRELOAD_HOST_PACE_H
#define PRELOAD_HOST_PACE_H

#include <stdint.h>

/* All times in nanoseconds. `cpu`: CPU time of the sampling thread, waking up included. */
struct host_pace {
	uint64_t wall_ns, cpu_ns; /* when the credit was counted last */
	int64_t credit_ns;	  /* CPU time that may be used at once */
	uint64_t cost_ns;	  /* of a sample, since then; 0: not known yet */
};

void host_pace_begin(struct host_pace *p, uint64_t wall_ns, uint64_t cpu_ns);

/* To be called after each `n` samples. */
void host_pace_count(struct host_pace *p, uint64_t wall_ns, uint64_t cpu_ns, unsigned n);

/* Returns the time from one sample to the next: `period_ns`, or longer. */
uint64_t host_pace_period_ns(const struct host_pace *p, uint64_t period_ns);

#endif
