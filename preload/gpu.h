/*
 * GPU times through CUPTI's activity API, found by dlopen when they are first wanted. Nothing here is on the hot path
 * but the push and pop of a call's id. Records are turned into the journal's on whatever thread CUPTI delivers them.
 */
#ifndef PRELOAD_GPU_H
#define PRELOAD_GPU_H

#include "preload/hook.h"

/* How calls and GPU records find one another: PROF_PAIRING, in the order of its range. */
enum gpu_pairing {
	GPU_BY_ORDER,	 /* CUPTI records no calls */
	GPU_BY_INTERVAL, /* it records those that make GPU work */
	GPU_BY_ID,	 /* and an id for each, which is pushed around it */
};

/* `library`: PROF_CUPTI. */
void gpu_configure(const char *library, enum gpu_pairing pairing);

/* Switches GPU timing on; says once why not where it cannot. Called from the thread that crosses a step's boundary. */
void gpu_start(void);

/* The recorded steps are over: a helper thread waits for what the GPU still works on, then switches timing off. */
void gpu_stop(void);

/* The application's own profiler is about to use CUPTI: delivers what there is, switches our timing off and leaves CUPTI alone.
 * Waits half a second at most. */
void gpu_yield(void);

/* It has switched its last kind of record off. What it flushes now is still its own: whoever registers callbacks or a clock in
 * between takes its last records, or moves their times (torch.profiler then finds none within its window). So ours goes on with
 * gpu_resume: behind that flush, or at the next step that is recorded. */
void gpu_left(void);
void gpu_resume(void);

/* It has taken CUPTI down. */
void gpu_is_down(void);

/* A context is about to end, and its records with it: delivers them by force, on the calling thread. */
void gpu_flush_now(void);

/* Delivers what there is, by force, at the process's end. Bounded: at most `timeout_ms`. */
void gpu_finish(unsigned timeout_ms);

/* Around the real call: announces it, by `id` = thread slot << 32 | seq. */
void gpu_push(uint64_t id);
void gpu_pop(void);

/* Forgets everything, in a forked child: CUPTI must not be called there. */
void gpu_forget(void);

#endif
