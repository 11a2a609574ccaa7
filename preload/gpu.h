/*
 * Provides GPU times through CUPTI's activity API. libcupti is loaded by dlopen when it is first
 * needed. Only gpu_push() and gpu_pop() are on the hot path. CUPTI's records are converted to
 * journal records on the thread on which CUPTI delivers them.
 */
#ifndef PRELOAD_GPU_H
#define PRELOAD_GPU_H

#include "preload/hook.h"

/* How calls and GPU records are paired: the values of PROF_PAIRING, in the same order. */
enum gpu_pairing {
	GPU_BY_ORDER,	 /* CUPTI records no calls */
	GPU_BY_INTERVAL, /* CUPTI also records the calls that launch GPU work */
	GPU_BY_ID,	 /* as GPU_BY_INTERVAL, and each call pushes an id that CUPTI records */
};

/* `library`: the value of PROF_CUPTI. */
void gpu_configure(const char *library, enum gpu_pairing pairing);

/*
 * Starts GPU timing for a window of recorded steps. If that fails, logs the reason once. Called by
 * the thread that crosses a step boundary.
 */
void gpu_start(void);

/*
 * Ends a window of recorded steps. A helper thread waits until the GPU has finished the window's
 * work, then stops GPU timing.
 */
void gpu_stop(void);

/* Like gpu_stop(), but waits until CUPTI is off, and down if that is safe. Takes 2.5 s at most. */
void gpu_stop_and_wait(void);

/*
 * Called when the application's own profiler is about to use CUPTI. Delivers the records that
 * exist, stops profrun's GPU timing and leaves CUPTI to the application. Waits half a second at
 * most.
 */
void gpu_yield(void);

/*
 * gpu_left() is called when the application's profiler has disabled its last kind of record. The
 * profiler will still flush its own records. If profrun registered its callbacks or its clock
 * before that flush, it would receive the profiler's last records or change their times
 * (torch.profiler then finds no records in its window). So GPU timing continues only in
 * gpu_resume(), which is called after that flush and when a recorded step begins.
 */
void gpu_left(void);
void gpu_resume(void);

/* Called after the application has taken CUPTI down (cuptiFinalize). */
void gpu_is_down(void);

/*
 * Flushes all records by force, on the calling thread. Called before a context is destroyed, whose
 * records would be lost otherwise.
 */
void gpu_flush_now(void);

/* Flushes all records by force at the end of the process. Takes at most `timeout_ms`. */
void gpu_finish(unsigned timeout_ms);

/*
 * Called before and after the real call. gpu_push() announces the call, so that its GPU records are
 * expected. `id` = thread slot << 32 | seq.
 */
void gpu_push(uint64_t id);
void gpu_pop(void);

/*
 * Resets everything in a forked child. If CUPTI was called before the fork, it is never called in
 * the child.
 */
void gpu_forget(void);

/*
 * Makes the helper thread flush CUPTI's buffers now. Called by a thread in which CUPTI asks for a
 * buffer, so it takes no lock; if it comes just before the helper thread waits, it has no effect.
 */
void gpu_hurry(void);

#endif
