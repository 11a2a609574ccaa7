/*
 * How CUPTI leaves a process between two windows. Measured on an H100 with CUDA 13.0 (docs/measurements, 2026-11-23):
 *
 * - Kinds that are only switched off leave launches up to a third dearer, for as long as the process lives. And if a copy from device to
 *   device is under way while they go off, CUPTI breaks when kernels and copies are both switched on again: it crashes on a thread of
 *   its own, or delivers no kernel any more. cuptiFinalize() takes both away.
 * - cuptiFinalize() breaks every executable graph there is: its next launch fails. And it takes the application's own subscription.
 *
 * - It crashes while a context is made or ended.
 *
 * So it is called where there never was a graph, the application has not used CUPTI, and no context came or went while CUPTI was there; else
 * copies are left out from then on.
 */
#ifndef PRELOAD_GPU_TEARDOWN_H
#define PRELOAD_GPU_TEARDOWN_H

#include "preload/hook.h"

/* Before each call that makes or changes a graph: waits where CUPTI is being taken down, and it never is again. Any thread. */
void gpu_teardown_graph(void);

/* Before each call that makes or ends a context, and behind it. The second one is for references to a device's primary context, most of
 * which make or end none: CUPTI stays up during the call only. */
void gpu_teardown_context(void);
void gpu_teardown_primary_context(void);
void gpu_teardown_context_over(void);

/* CUPTI is in the process, or no longer. */
void gpu_teardown_is_up(bool up);

/* The application uses CUPTI itself: it is never taken down again. */
void gpu_teardown_application(void);

/* Around the taking down of a CUPTI of `version` (cuptiGetVersion). False: it is not safe, and there is nothing to end. No kind may be on
 * but ours. */
bool gpu_teardown_begin(uint32_t version);
void gpu_teardown_end(void);

/* In a forked child, that may use neither. */
void gpu_teardown_forget(void);

#endif
