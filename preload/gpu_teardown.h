/*
 * Decides whether CUPTI may be taken down (cuptiFinalize) between two windows. Measured on an H100
 * with CUDA 13.0 (docs/measurements, 2026-11-23):
 *
 * - If record kinds are only disabled, launches stay up to a third slower for the rest of the
 *   process. And if a device-to-device copy is under way at that moment, CUPTI breaks once kernels
 *   and copies are both enabled again: it crashes on a thread of its own, or delivers no kernels
 *   any more. cuptiFinalize() avoids both.
 * - cuptiFinalize() breaks every executable graph: its next launch fails. It also removes the
 *   application's own subscription.
 * - cuptiFinalize() crashes while a context is created or destroyed.
 *
 * So CUPTI is taken down only if there never was a graph, the application has not used CUPTI, and
 * no context was created or destroyed while CUPTI was up. Otherwise copies are no longer recorded.
 */
#ifndef PRELOAD_GPU_TEARDOWN_H
#define PRELOAD_GPU_TEARDOWN_H

#include "preload/hook.h"

/*
 * Called before each call that creates, changes or launches a graph. Waits while CUPTI is being
 * taken down; it is never taken down again after that. Any thread.
 */
void gpu_teardown_graph(void);

/*
 * gpu_teardown_context() is called before each call that creates or destroys a context,
 * gpu_teardown_context_over() after it. gpu_teardown_primary_context() is for references to a
 * device's primary context, most of which create or destroy none: it forbids taking CUPTI down only
 * during the call.
 */
void gpu_teardown_context(void);
void gpu_teardown_primary_context(void);
void gpu_teardown_context_over(void);

/* CUPTI is up in this process, or not any more. */
void gpu_teardown_is_up(bool up);

/* The application uses CUPTI itself: it is never taken down again. */
void gpu_teardown_application(void);

/*
 * Called around taking down a CUPTI of `version` (cuptiGetVersion). gpu_teardown_begin() returns
 * false if that is not safe; gpu_teardown_end() must not be called then. Only record kinds of
 * profrun may be enabled.
 */
bool gpu_teardown_begin(uint32_t version);
void gpu_teardown_end(void);

/* Called in a forked child, which can use neither CUPTI nor the parent's CUDA. */
void gpu_teardown_forget(void);

#endif
