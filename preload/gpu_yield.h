/* Detects the application's own use of CUPTI (torch.profiler), by the functions it has to call. */
#ifndef PRELOAD_GPU_YIELD_H
#define PRELOAD_GPU_YIELD_H

#include "preload/hook.h" /* before cuda.h, whose macros rename what the table names */

#include <cupti.h>

/*
 * Passes on a completed buffer that is not one of profrun's. The application handed it out before
 * profrun replaced its callbacks.
 */
void gpu_yield_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
		      size_t valid_bytes);

/* Returns the clock the application registered last, else CUPTI's default, CLOCK_REALTIME in ns. */
CUpti_TimestampCallbackFunc gpu_yield_clock(void);

/* Returns the wrapper that dlsym returns for CUPTI's function `name`; NULL: there is none. */
void *gpu_yield_wrapper(const char *name);

/*
 * Returns whether the wrapper of `name` would call `found`, the function that dlsym found in a
 * CUPTI, for `caller`. It would not if there are two CUPTIs: then the application uses `found`
 * itself, and profrun's CUPTI is never taken down again.
 */
bool gpu_yield_stands_for(const char *name, void *found, void *caller);

/* Called in a forked child. */
void gpu_yield_forget(void);

#endif
