/*
 * Prints what dlerror() says once a profiler is switched on (PROF_STEP=api) in a program that has
 * looked nothing up itself.
 */
#include <cuda_profiler_api.h>
#include <dlfcn.h>
#include <stdio.h>

#include "test/prog/work.h"

int main(void)
{
	const void *kernel = work_kernel("spin_5us");
	work_launch(kernel, 8, NULL);
	MUST(cudaDeviceSynchronize());
	MUST(cudaProfilerStop());
	dlerror();
	MUST(cudaProfilerStart());
	const char *error = dlerror();
	printf("%s\n", error ? error : "nothing");
	return 0;
}
