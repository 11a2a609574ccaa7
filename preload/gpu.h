/*
 * GPU times through CUPTI's activity API, which is loaded by dlopen when first needed. Only the
 * push and pop of a call's id are on the hot path. CUPTI's records are converted to journal records
 * on whichever thread CUPTI delivers them.
 */
#ifndef PRELOAD_GPU_H
#define PRELOAD_GPU_H

#include "preload/hook.h"

/* How calls and GPU records are paired: the values of PROF_PAIRING, in the same order. */
enum gpu_pairing {
	GPU_BY_ORDER,	 /* CUPTI records no calls */
	GPU_BY_INTERVAL, /* CUPTI records the calls that launch GPU work */
	GPU_BY_ID,	 /* as BY_INTERVAL, and an id is pushed around each call */
};

/* `library`: PROF_CUPTI. */
void gpu_configure(const char *library, enum gpu_pairing pairing);

/*
 * Starts GPU timing; if that fails, logs the reason once. Called by the thread that crosses a step
 * boundary.
 */
void gpu_start(void);

/*
 * Ends a window of recorded steps. A helper thread waits until the GPU has finished the window's
 * work, then stops timing.
 */
void gpu_stop(void);

/*
 * Called when the application's own profiler is about to use CUPTI. Delivers the records that
 * exist, stops profrun's timing and leaves CUPTI alone. Waits half a second at most.
 */
void gpu_yield(void);

/*
 * gpu_left(): the application's profiler has disabled its last kind of record. What it flushes
 * after that is still its own. If profrun registered callbacks or a clock in between, it would take
 * the profiler's last records or change their times (torch.profiler then finds none in its window).
 * Timing therefore continues only in gpu_resume(), called after that flush or at the next recorded
 * step.
 */
void gpu_left(void);
void gpu_resume(void);

/* The application has taken CUPTI down (cuptiFinalize). */
void gpu_is_down(void);

/* Flushes all records by force, on the calling thread, before a context that holds some ends. */
void gpu_flush_now(void);

/* Flushes all records by force at the end of the process. Takes at most `timeout_ms`. */
void gpu_finish(unsigned timeout_ms);

/* Called around the real call to announce it; `id` = thread slot << 32 | seq. */
void gpu_push(uint64_t id);
void gpu_pop(void);

/* Resets everything in a forked child, where CUPTI must not be called. */
void gpu_forget(void);

#endif
