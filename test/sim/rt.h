/*
 * Internals of the simulated runtime (libcudart.so.12 and .13): a layer on the driver, as the real
 * one is. It finds the driver by dlopen and asks cuGetProcAddress_v2 for every function twice,
 * plain and per-thread. All work goes through those pointers, so that a profiler that wraps the
 * driver sees the same as with the real runtime. Application threads only.
 */
#ifndef TEST_SIM_RT_H
#define TEST_SIM_RT_H

/* Every version of every function under its own name. */
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
extern struct rt_driver rt_driver[2]; /* plain, per-thread default stream */

#define RT_CONFIGURATIONS 16

struct rt_thread {
	bool per_thread; /* this call is a _ptds or _ptsz variant */
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

/* Anybody to tell of trivial calls, or to fail them? */
#define RT_WATCHED() (!rt_tools || *rt_tools->flags)

/* The driver's function for the running call. */
#define DRV(symbol) (rt_driver[rt_thread()->per_thread].symbol)

cudaError_t rt_enter(struct sim_frame *frame, bool per_thread);
cudaError_t rt_leave(struct sim_frame *frame, cudaError_t status);
cudaError_t rt_missing(const char *name);

/* Loads the driver, once. */
cudaError_t rt_load(void);
/* Makes a context current where there is none: the primary one of this thread's device. */
cudaError_t rt_context(void);

/* cudaError_t and CUresult have the same numbers. */
#define RT(expression) ((cudaError_t)(expression))

/* rt_register.c */
cudaError_t rt_function(const void *function, CUfunction *handle);
/* Bits of one channel of an array, 0 for formats that are not simulated. */
int rt_channel_bits(CUarray_format format);
cudaError_t rt_symbol(const void *symbol, CUdeviceptr *address, size_t *bytes);
cudaError_t rt_copy_3d_driver(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c);

#include "runtime_impl.h"

#endif
