/*
 * The native stacks of sampled threads: of a blocked thread from the stack pointer that the kernel
 * says, of a running one by perf (host_perf.h). Used only by the sampling thread (host.h).
 */
#ifndef PRELOAD_HOST_NATIVE_H
#define PRELOAD_HOST_NATIVE_H

#include "preload/host_perf.h"
#include "preload/host_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Walks the stack of a blocked thread, for stack_of_sample(). Returns false if there are no
 * frames. */
bool host_native_walk(const struct host_state *now);

/* Begins to sample a running thread, if the system allows it. `hz`: samples per second of its CPU
 * time. Does nothing once it has been tried for this thread. */
void host_native_open(struct host_perf *p, uint32_t tid, uint32_t hz);

/* Notes the time, which the samples of running threads are related to. Called before they are
 * taken. */
void host_native_tick(void);

/* Takes the next sample of a running thread that was outside profrun's code. Sets `ticks` and the
 * number of its stack. Returns false if there is none. */
bool host_native_take(struct host_perf *p, uint64_t *ticks, uint32_t *stack);

/* Writes which native stacks are available, and why others are not. */
void host_native_describe(char *text, size_t bytes);

/* In a forked child. */
void host_native_forget(void);

#endif
