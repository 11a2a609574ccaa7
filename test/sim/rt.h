/*
 * Internals of the simulated runtime (libcudart.so.12 and .13). It is a layer on the driver, like
 * the real runtime. It finds the driver by dlopen and asks cuGetProcAddress_v2 for every function
 * twice: for the plain and the per-thread variant. All work goes through those pointers, so that a
 * profiler that wraps the driver sees the same as with the real runtime. Runs on the application's
 * threads only.
 */
#ifndef TEST_SIM_RT_H
#define TEST_SIM_RT_H

/* Declares every version of every function under its own name. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "test/sim/sim_tools.h"

#ifndef SIM_CUDART
#define SIM_CUDART 13
#endif
#define RT_VERSION (SIM_CUDART == 12 ? 12090 : 13000)

struct rt_driver {
#define CALL(symbol, base, version) __typeof__(&symbol) symbol;
#include "driver_calls.def"
#undef CALL
};
/* [0]: plain variants; [1]: variants for the per-thread default stream */
extern struct rt_driver rt_driver[2];

#define RT_CONFIGURATIONS 16

struct rt_thread {
	bool per_thread; /* the current call is a _ptds or _ptsz variant */
	int device;
	cudaError_t last_error;
	int configuration_count;
	struct {
		dim3 grid, block;
		size_t shared;
		void *stream;
	} configurations[RT_CONFIGURATIONS];
};
struct rt_thread *rt_thread(void);

extern const struct sim_tools *rt_tools; /* NULL until the driver is loaded */

/* Whether a trivial call needs a frame: a sink may have to see it, or PROFSIM_FAIL may make it
 * fail. */
#define RT_WATCHED() (!rt_tools || *rt_tools->flags)

/* The driver's function, in the variant of the running call. */
#define DRV(symbol) (rt_driver[rt_thread()->per_thread].symbol)

cudaError_t rt_enter(struct sim_frame *frame, bool per_thread);
cudaError_t rt_leave(struct sim_frame *frame, cudaError_t status);
cudaError_t rt_missing(const char *name);

/* Loads the driver on the first call. */
cudaError_t rt_load(void);
/* If no context is current, makes the primary context of this thread's device current. */
cudaError_t rt_context(void);

/* cudaError_t and CUresult have the same numbers. */
#define RT(expression) ((cudaError_t)(expression))

/* Implemented in rt_register.c. */
cudaError_t rt_function(const void *function, CUfunction *handle);
/* Returns the bits of one channel of an array, 0 for formats that are not simulated. */
int rt_channel_bits(CUarray_format format);
cudaError_t rt_symbol(const void *symbol, CUdeviceptr *address, size_t *bytes);
cudaError_t rt_copy_3d_driver(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c);

#include "runtime_impl.h"

#endif
