/*
 * Decides whether CUPTI may be taken down (cuptiFinalize) between two windows of recorded steps.
 * Measured on an H100 with CUDA 13.0 (docs/measurements, 2026-11-23):
 *
 * - If record kinds are only disabled, launches stay up to a third slower for the rest of the
 *   process.
 * - If a device-to-device copy is under way when record kinds are disabled, CUPTI breaks once
 *   kernels and copies are both enabled again: it crashes on one of its own threads, or delivers no
 *   more kernels.
 * - cuptiFinalize() avoids both. But it breaks every executable graph, whose next launch fails, and
 *   it removes the application's own CUPTI subscription. It crashes while a context is created or
 *   destroyed.
 *
 * So CUPTI is taken down only if there never was a graph, the application has not used CUPTI, and
 * no context was created or destroyed while CUPTI was up. Otherwise record kinds are only disabled.
 * If a device-to-device copy was recorded by then, copies are no longer recorded.
 */
#ifndef PRELOAD_GPU_TEARDOWN_H
#define PRELOAD_GPU_TEARDOWN_H

#include "preload/hook.h"

/*
 * Called before each call that creates, changes or launches a graph. If CUPTI is being taken down,
 * waits until it is down. After this call CUPTI is never taken down again. Any thread.
 * gpu_teardown_has_graphs: returns whether there was such a call.
 */
void gpu_teardown_graph(void);
bool gpu_teardown_has_graphs(void);

/*
 * gpu_teardown_context() is called before each call that creates or destroys a context, and
 * gpu_teardown_context_over() after that call. gpu_teardown_primary_context() is called instead of
 * gpu_teardown_context() if the call takes or drops a reference to a device's primary context,
 * because most of these calls create or destroy no context. It forbids taking CUPTI down only
 * during the call.
 */
void gpu_teardown_context(void);
void gpu_teardown_primary_context(void);
void gpu_teardown_context_over(void);

/* Called when CUPTI is started in this process (true) or was taken down (false). */
void gpu_teardown_is_up(bool up);

/* Called when the application uses CUPTI itself. From then on CUPTI is never taken down. */
void gpu_teardown_application(void);

/*
 * Returns whether kernels must not be switched off, because cuptiActivityDisable() can then wait
 * forever (CUDA 13.0 before its update 1). Taking CUPTI down is safe. `version`: from
 * cuptiGetVersion.
 */
bool gpu_teardown_kernels_stay(uint32_t version);

/*
 * Called before and after CUPTI is taken down. `version`: from cuptiGetVersion.
 * gpu_teardown_begin() returns false if taking CUPTI down is not safe; then gpu_teardown_end() must
 * not be called. No record kinds but profrun's own may be enabled.
 */
bool gpu_teardown_begin(uint32_t version);
void gpu_teardown_end(void);

/* Called in a forked child, which can use neither CUPTI nor the parent's CUDA. */
void gpu_teardown_forget(void);

#endif
