/*
 * Allocates, copies and launches through each entry point of CUDA, `repeat` times each:
 * interposed WAY REPEAT. WAY: symbol, default, next, handle, versioned,
 * driver, getproc, entry-point, or all.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/prog/ptx.h"

#define MUST(call)                                                                 \
	do {                                                                       \
		int failed_ = (int)(call);                                         \
		if (failed_) {                                                     \
			fprintf(stderr, "%s %s: error %d\n", way, #call, failed_); \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

static int repeat;
static const char *way;

static void *must(void *found)
{
	const char *error = dlerror();
	if (found && !error)
		return found;
	fprintf(stderr, "%s: %s\n", way, error ? error : "nothing found");
	exit(1);
}

static void runtime(__typeof__(&cudaMalloc) allocate, __typeof__(&cudaMemcpy) copy)
{
	char data[64] = "there", back[64] = "";
	void *p = NULL;
	for (int i = 0; i < repeat; i++) {
		MUST(allocate(&p, sizeof(data)));
		MUST(copy(p, data, sizeof(data), cudaMemcpyHostToDevice));
		MUST(copy(back, p, sizeof(data), cudaMemcpyDeviceToHost));
		MUST(cudaFree(p));
		if (strcmp(data, back))
			exit(2);
	}
}

typedef CUresult alloc_function(CUdeviceptr *, size_t);
typedef CUresult get_function(const char *, void **, int, cuuint64_t,
			      CUdriverProcAddressQueryResult *);

static void driver(alloc_function *allocate, __typeof__(&cuLaunchKernel) launch)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(&cuModuleLoadData) load =
		(__typeof__(load))must(dlsym(cuda, "cuModuleLoadData"));
	__typeof__(&cuModuleGetFunction) get =
		(__typeof__(get))must(dlsym(cuda, "cuModuleGetFunction"));
	CUmodule module;
	CUfunction kernel;
	CUdeviceptr p;
	MUST(load(&module, PTX_SPINS));
	MUST(get(&kernel, module, "spin_20us"));
	for (int i = 0; i < repeat; i++) {
		MUST(allocate(&p, 64));
		MUST(launch(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	}
}

static bool is(const char *name)
{
	bool wanted = !strcmp(way, name) || !strcmp(way, "all");
	if (wanted)
		dlerror();
	return wanted;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 9;
	way = argv[1];
	repeat = atoi(argv[2]);
	void *cudart = dlopen("libcudart.so.13", RTLD_NOW),
	     *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	static const char version[] = "libcudart.so.13";
	MUST(cudaFree(NULL));
	if (is("symbol"))
		runtime(cudaMalloc, cudaMemcpy);
	if (is("default"))
		runtime(must(dlsym(RTLD_DEFAULT, "cudaMalloc")),
			must(dlsym(RTLD_DEFAULT, "cudaMemcpy")));
	if (is("next"))
		runtime(must(dlsym(RTLD_NEXT, "cudaMalloc")), must(dlsym(RTLD_NEXT, "cudaMemcpy")));
	if (is("handle"))
		runtime(must(dlsym(cudart, "cudaMalloc")), must(dlsym(cudart, "cudaMemcpy")));
	if (is("versioned"))
		runtime(must(dlvsym(cudart, "cudaMalloc", version)),
			must(dlvsym(cudart, "cudaMemcpy", version)));
	if (is("driver"))
		driver(must(dlsym(cuda, "cuMemAlloc_v2")), must(dlsym(cuda, "cuLaunchKernel")));
	if (is("getproc")) {
		void *allocate = NULL, *launch = NULL;
		get_function *get = must(dlsym(cuda, "cuGetProcAddress_v2"));
		MUST(get("cuMemAlloc", &allocate, 12000, 0, NULL));
		MUST(get("cuLaunchKernel", &launch, 12000, 0, NULL));
		driver(allocate, launch);
	}
	if (is("entry-point")) {
		void *allocate = NULL, *launch = NULL;
		MUST(cudaGetDriverEntryPointByVersion("cuMemAlloc", &allocate, 12000,
						      cudaEnableDefault, NULL));
		MUST(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &launch, 12000,
						      cudaEnableDefault, NULL));
		driver(allocate, launch);
	}
	if (is("symbol"))
		runtime(cudaMalloc, cudaMemcpy);
	MUST(cudaDeviceSynchronize());
	printf("done\n");
	return 0;
}
