/* The same work for every way to get at the driver's functions: F(name) rows are what it needs. */
#ifndef TEST_PROG_DRIVER_WORK_H
#define TEST_PROG_DRIVER_WORK_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/prog/ptx.h"

#define DRIVER_FUNCTIONS(F)         \
	F(cuInit)                   \
	F(cuDeviceGet)              \
	F(cuDevicePrimaryCtxRetain) \
	F(cuCtxSetCurrent)          \
	F(cuModuleLoadData)         \
	F(cuModuleGetFunction)      \
	F(cuMemAlloc)               \
	F(cuMemFree)                \
	F(cuMemcpyHtoD)             \
	F(cuMemcpyDtoHAsync)        \
	F(cuLaunchKernel)           \
	F(cuStreamSynchronize)      \
	F(cuCtxSynchronize)

/*
 * cuda.h's macros give each name its newest form (cuMemAlloc is cuMemAlloc_v2), and the types here,
 * too.
 */
struct driver {
#define F(name) __typeof__(&name) p_##name;
	DRIVER_FUNCTIONS(F)
#undef F
};

#define MUST(call)                                                              \
	do {                                                                    \
		CUresult failed_ = (call);                                      \
		if (failed_) {                                                  \
			fprintf(stderr, "%s: error %d\n", #call, (int)failed_); \
			exit(1);                                                \
		}                                                               \
	} while (0)

static inline void driver_work(const struct driver *d)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction kernel;
	CUdeviceptr p;
	char data[512] = "there and back", back[512] = "";
	MUST(d->p_cuInit(0));
	MUST(d->p_cuDeviceGet(&device, 0));
	MUST(d->p_cuDevicePrimaryCtxRetain(&context, device));
	MUST(d->p_cuCtxSetCurrent(context));
	MUST(d->p_cuModuleLoadData(&module, PTX_SPINS));
	MUST(d->p_cuModuleGetFunction(&kernel, module, "spin_20us"));
	MUST(d->p_cuMemAlloc(&p, sizeof(data)));
	MUST(d->p_cuMemcpyHtoD(p, data, sizeof(data)));
	for (unsigned i = 0; i < 3; i++)
		MUST(d->p_cuLaunchKernel(kernel, i + 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	MUST(d->p_cuMemcpyDtoHAsync(back, p, sizeof(back), NULL));
	MUST(d->p_cuStreamSynchronize(NULL));
	MUST(d->p_cuCtxSynchronize());
	MUST(d->p_cuMemFree(p));
	printf("%s\n", memcmp(data, back, sizeof(data)) ? "other bytes came back" : back);
}

#endif
