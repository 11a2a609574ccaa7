/*
 * Detects that the application itself uses CUPTI (torch.profiler), by wrapping the CUPTI functions
 * that it has to call.
 */
#ifndef PRELOAD_GPU_YIELD_H
#define PRELOAD_GPU_YIELD_H

#include "preload/hook.h" /* before cuda.h, whose macros rename functions that hooks.def names */

#include <cupti.h>

/*
 * Passes a completed buffer that is not profrun's to the application's callback. The application
 * had given the buffer to CUPTI before profrun's callbacks replaced its own.
 */
void gpu_yield_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
		      size_t valid_bytes);

/*
 * Returns the clock that the application registered last, or else CUPTI's default, CLOCK_REALTIME
 * in ns.
 */
CUpti_TimestampCallbackFunc gpu_yield_clock(void);

/*
 * Returns the wrapper of CUPTI's function `name`, which dlsym returns to the application; NULL if
 * the function is not wrapped.
 */
void *gpu_yield_wrapper(const char *name);

/*
 * Returns whether dlsym may return the wrapper of `name` instead of `found`, the function that the
 * real dlsym found in a CUPTI library. dlsym may do so if the wrapper, called by the code at return
 * address `caller`, would itself call `found`. If there are two CUPTIs and the wrapper calls the
 * other one, the application uses `found` itself, and profrun's CUPTI is never taken down again.
 */
bool gpu_yield_stands_for(const char *name, void *found, void *caller);

/* Forgets what the application has registered. Called in a forked child. */
void gpu_yield_forget(void);

#endif
