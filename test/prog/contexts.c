/*
 * Fills memory on two devices in turn, whose contexts it makes current in each way of the driver.
 * Prints the device of each fill.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(call)                                                              \
	do {                                                                    \
		CUresult failed_ = (call);                                      \
		if (failed_) {                                                  \
			fprintf(stderr, "%s: error %d\n", #call, (int)failed_); \
			exit(1);                                                \
		}                                                               \
	} while (0)

#define FUNCTIONS(F)                \
	F(cuInit)                   \
	F(cuDevicePrimaryCtxRetain) \
	F(cuCtxSetCurrent)          \
	F(cuCtxPushCurrent_v2)      \
	F(cuCtxPopCurrent_v2)       \
	F(cuMemAlloc_v2)            \
	F(cuMemsetD8_v2)            \
	F(cuCtxSynchronize)         \
	F(cuCtxCreate_v2)           \
	F(cuCtxDestroy_v2)

static struct {
	CUresult (*cuInit)(unsigned);
	CUresult (*cuDevicePrimaryCtxRetain)(CUcontext *, CUdevice);
	CUresult (*cuCtxSetCurrent)(CUcontext);
	CUresult (*cuCtxPushCurrent_v2)(CUcontext);
	CUresult (*cuCtxPopCurrent_v2)(CUcontext *);
	CUresult (*cuMemAlloc_v2)(CUdeviceptr *, size_t);
	CUresult (*cuMemsetD8_v2)(CUdeviceptr, unsigned char, size_t);
	CUresult (*cuCtxSynchronize)(void);
	CUresult (*cuCtxCreate_v2)(CUcontext *, unsigned, CUdevice);
	CUresult (*cuCtxDestroy_v2)(CUcontext);
} cu;

static void fill(int device)
{
	CUdeviceptr p;
	MUST(cu.cuMemAlloc_v2(&p, 64));
	MUST(cu.cuMemsetD8_v2(p, 1, 64));
	MUST(cu.cuCtxSynchronize());
	printf("%d ", device);
}

int main(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext contexts[2], popped, made;
	if (!library)
		return 2;
#define F(name) *(void **)&cu.name = dlsym(library, #name);
	FUNCTIONS(F)
	MUST(cu.cuInit(0));
	for (int i = 0; i < 2; i++)
		MUST(cu.cuDevicePrimaryCtxRetain(&contexts[i], i));
	for (int i = 0; i < 3; i++) {
		MUST(cu.cuCtxPushCurrent_v2(contexts[1]));
		fill(1);
		MUST(cu.cuCtxPushCurrent_v2(contexts[0]));
		fill(0);
		MUST(cu.cuCtxPopCurrent_v2(&popped));
		fill(1);
		MUST(cu.cuCtxPopCurrent_v2(&popped));
		MUST(cu.cuCtxSetCurrent(contexts[0]));
		fill(0);
		MUST(cu.cuCtxCreate_v2(&made, 0, 1));
		fill(1);
		MUST(cu.cuCtxDestroy_v2(made));
		fill(0);
		MUST(cu.cuCtxSetCurrent(NULL));
	}
	printf("\n");
	return 0;
}
