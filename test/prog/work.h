/*
 * A little CUDA work for programs that test something else: linked with the runtime, kernels from
 * ptx.h.
 */
#ifndef TEST_PROG_WORK_H
#define TEST_PROG_WORK_H

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/prog/ptx.h"

#define MUST(call)                                                                     \
	do {                                                                           \
		cudaError_t failed_ = (call);                                          \
		if (failed_) {                                                         \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorName(failed_)); \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

static inline const void *work_kernel(const char *name)
{
	cudaLibrary_t library;
	cudaKernel_t kernel;
	MUST(cudaLibraryLoadData(&library, PTX_SPINS, NULL, NULL, 0, NULL, NULL, 0));
	MUST(cudaLibraryGetKernel(&kernel, library, name));
	return kernel;
}

static inline void work_launch(const void *kernel, unsigned blocks, cudaStream_t stream)
{
	MUST(cudaLaunchKernel(kernel, (dim3){ blocks, 1, 1 }, (dim3){ 32, 1, 1 }, NULL, 0, stream));
}

/*
 * Allocates, copies in, launches kernels of 5 us, waits, copies back, frees. Returns true if the
 * bytes came back.
 */
static inline int work_some(int launches)
{
	char data[256] = "these bytes go there and back", back[256] = "";
	void *p;
	const void *kernel = work_kernel("spin_5us");
	MUST(cudaMalloc(&p, sizeof(data)));
	MUST(cudaMemcpy(p, data, sizeof(data), cudaMemcpyHostToDevice));
	for (int i = 0; i < launches; i++)
		work_launch(kernel, 4, NULL);
	MUST(cudaDeviceSynchronize());
	MUST(cudaMemcpy(back, p, sizeof(back), cudaMemcpyDeviceToHost));
	MUST(cudaFree(p));
	for (size_t i = 0; i < sizeof(data); i++)
		if (data[i] != back[i])
			return 0;
	return 1;
}

#endif
