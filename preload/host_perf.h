/*
 * Stacks of running threads, by perf_event_open(2): while such a thread runs, the kernel copies its
 * registers and the top of its stack into a ring once per period of its CPU time. It does so in
 * user code only. The thread is not stopped, but its CPU is interrupted for some microseconds.
 * Whether this is allowed depends on the system (kernel.perf_event_paranoid, containers). Used only
 * by the sampling thread (host.h), whose descriptors must be its own.
 */
#ifndef PRELOAD_HOST_PERF_H
#define PRELOAD_HOST_PERF_H

#include "preload/unwind.h"
#include "preload/unwind_objects.h"

#include <stdbool.h>
#include <stdint.h>

/* All zeros: not open. */
struct host_perf {
	void *ring;
	int file;
	bool failed; /* it cannot be opened for this thread */
};

/* What was read of a running thread. */
struct host_perf_sample {
	uint64_t ns; /* CLOCK_MONOTONIC */
	struct unwind_regs regs;
	struct stack_window window; /* valid until the next sample is taken */
};

/* Begins to sample a thread of this process, `hz` times per second of its CPU time. Returns false
 * if the system does not allow it, with the reason in errno. */
bool host_perf_open(struct host_perf *p, uint32_t tid, uint32_t hz);
void host_perf_close(struct host_perf *p);

/* Takes the oldest sample out of the ring. Returns false if there is none. */
bool host_perf_take(struct host_perf *p, struct host_perf_sample *to);

#endif
