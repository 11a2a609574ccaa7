/* The application's own use of CUPTI (torch.profiler), seen through the functions that it cannot do without. */
#ifndef PRELOAD_GPU_YIELD_H
#define PRELOAD_GPU_YIELD_H

#include "preload/hook.h" /* before cuda.h, whose macros rename what the table names */

#include <cupti.h>

/* A buffer came back that we did not hand out: it is the application's, from before its callbacks were replaced. */
void gpu_yield_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
		      size_t valid_bytes);

/* The clock that the application's records have: what it registered last, else CUPTI's own, CLOCK_REALTIME in ns. */
CUpti_TimestampCallbackFunc gpu_yield_clock(void);

/* What a program that asks dlsym for that function of CUPTI's is given instead; NULL: CUPTI's own. */
void *gpu_yield_wrapper(const char *name);

/* Whether that does what `found`, the function that dlsym found of a CUPTI, would for `caller`. It does not where there are two of them:
 * then it is the application's, and ours is left as it is. */
bool gpu_yield_stands_for(const char *name, void *found, void *caller);

void gpu_yield_forget(void);

#endif
