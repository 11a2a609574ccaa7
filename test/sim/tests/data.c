/*
 * Data, memory and errors: what comes back, what reads as zeros, limits, pointers, virtual memory,
 * the error state.
 */
#include "test/sim/tests/check.h"

#include <cuda.h>

enum { N = 4096 };

static void round_trips(void)
{
	static unsigned char in[N], out[N], grid[64][64], back[64][64];
	unsigned char *a, *b, *pitched;
	size_t pitch;
	for (int i = 0; i < N; i++)
		in[i] = (unsigned char)(i * 7 + 1);
	memcpy(grid, in, N);
	NEED(cudaMalloc((void **)&a, N));
	NEED(cudaMalloc((void **)&b, N));
	memset(out, 9, N);
	NEED(cudaMemcpy(out, a, N, cudaMemcpyDeviceToHost));
	bool zero = true;
	for (int i = 0; i < N; i++)
		zero &= !out[i];
	check(zero, "fresh memory reads as zeros", "it does not");
	NEED(cudaMemcpy(a, in, N, cudaMemcpyHostToDevice));
	NEED(cudaMemcpy(b, a, N, cudaMemcpyDeviceToDevice));
	NEED(cudaMemcpy(out, b, N, cudaMemcpyDeviceToHost));
	check(!memcmp(in, out, N), "data survive a copy in, within and out", "they do not");
	NEED(cudaMemcpy(out, b + 100, 50, cudaMemcpyDeviceToHost));
	check(!memcmp(in + 100, out, 50), "and in part", "they do not");
	launch(kernel_named("anything"), NULL);
	memset(out, 9, N);
	NEED(cudaMemcpy(out, b, N, cudaMemcpyDeviceToHost));
	check(!memcmp(in, out, N), "and a kernel that may have read them", "they do not");
	NEED(cudaMemcpy(out, b + 100, 8, cudaMemcpyDeviceToHost));
	check(!out[0] && !out[7], "what a kernel may have written reads as zeros", "stale bytes");
	NEED(cudaMemset(a, 0x5a, N));
	NEED(cudaMemcpy(out, a, N, cudaMemcpyDeviceToHost));
	check(out[0] == 0x5a && out[N - 1] == 0x5a, "memset sets", "%x", out[0]);
	NEED(cudaMemset(a, 0, N));
	NEED(cudaMemcpy(out, a, N, cudaMemcpyDeviceToHost));
	check(!out[0] && !out[N - 1], "memset clears", "%x", out[0]);
	NEED(cudaMallocPitch((void **)&pitched, &pitch, 64, 64));
	NEED(cudaMemcpy2D(pitched, pitch, grid, 64, 64, 64, cudaMemcpyHostToDevice));
	NEED(cudaMemcpy2D(back, 64, pitched, pitch, 64, 64, cudaMemcpyDefault));
	check(pitch >= 64 && !memcmp(grid, back, N), "two-dimensional copies", "they differ");
}

/* PROFSIM_KERNEL_RESULTS with its default; each read but the first differs from it in one thing. */
static void results(void)
{
	static const char all[] = "reduce_and_kernel_cuda_lambda";
	unsigned char *memory, one[8] = { 9 }, next = 9, other = 9, several[8] = { 9 };
	NEED(cudaMalloc((void **)&memory, 8));
	launch(kernel_named(all), NULL);
	NEED(cudaMemcpy(one, memory, 1, cudaMemcpyDeviceToHost));
	NEED(cudaMemcpy(&next, memory, 1, cudaMemcpyDeviceToHost));
	check(one[0] == 1, "what all() answers", "%d", one[0]);
	check(next == 0, "to one question", "%d", next);
	launch(kernel_named(all), NULL);
	launch(kernel_named("reduce_or_kernel_cuda_lambda"), NULL);
	NEED(cudaMemcpy(&other, memory, 1, cudaMemcpyDeviceToHost));
	check(other == 0, "the last kernel's answer", "%d", other);
	launch(kernel_named(all), NULL);
	NEED(cudaMemcpy(several, memory, 8, cudaMemcpyDeviceToHost));
	check(several[0] == 0, "of a byte alone", "%d", several[0]);
	launch(kernel_named("cub_DeviceReduceByKeyKernel_rle"), NULL);
	NEED(cudaMemcpy(several, memory, 8, cudaMemcpyDeviceToHost));
	check(several[0] == 1 && !several[7], "how many different ones there are", "%d",
	      several[0]);
	NEED(cudaMemset(memory, 7, 1));
	launch(kernel_named(all), NULL);
	NEED(cudaMemcpy(one, memory, 1, cudaMemcpyDeviceToHost));
	check(one[0] == 7, "not of what the application wrote", "%d", one[0]);
	NEED(cudaFree(memory));
}

static void tensor_maps(void)
{
	CUtensorMap map[2];
	cuuint64_t sizes[] = { 64, 64 }, strides[] = { 128 };
	cuuint32_t box[] = { 64, 64 }, steps[] = { 1, 1 };
	void *memory;
	NEED(cudaMalloc(&memory, 8192));
	CUresult good = cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, memory,
					       sizes, strides, box, steps, 0, 0, 0, 0),
		 bad = cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2,
					      (char *)memory + 2, sizes, strides, box, steps, 0, 0,
					      0, 0);
	check(good == CUDA_SUCCESS, "a tensor map", "%d", good);
	check(bad == CUDA_ERROR_INVALID_VALUE, "not of an odd address", "%d", bad);
	NEED(cuTensorMapReplaceAddress(map, memory));
	NEED(cudaFree(memory));
}

static void arrays(void)
{
	static float in[16][16], out[16][16];
	cudaArray_t array;
	struct cudaChannelFormatDesc desc = cudaCreateChannelDesc(32, 0, 0, 0,
								  cudaChannelFormatKindFloat),
				     got;
	for (int i = 0; i < 256; i++)
		in[i / 16][i % 16] = (float)i;
	NEED(cudaMallocArray(&array, &desc, 16, 16, 0));
	NEED(cudaMemcpy2DToArray(array, 0, 0, in, 64, 64, 16, cudaMemcpyHostToDevice));
	NEED(cudaMemcpy2DFromArray(out, 64, array, 0, 0, 64, 16, cudaMemcpyDeviceToHost));
	NEED(cudaGetChannelDesc(&got, array));
	check(!memcmp(in, out, sizeof(in)) && got.x == 32 && got.f == cudaChannelFormatKindFloat,
	      "arrays", "they differ");
	NEED(cudaFreeArray(array));
}

static enum cudaMemoryType type_of(const void *p)
{
	struct cudaPointerAttributes a;
	NEED(cudaPointerGetAttributes(&a, p));
	return a.type;
}

static void pointers(void)
{
	void *device, *pinned, *managed, *plain = malloc(8192);
	NEED(cudaMalloc(&device, 100));
	NEED(cudaMallocHost(&pinned, 100));
	NEED(cudaMallocManaged(&managed, 100, cudaMemAttachGlobal));
	check(type_of(device) == cudaMemoryTypeDevice &&
		      type_of((char *)device + 99) == cudaMemoryTypeDevice,
	      "a device pointer", "type %d", type_of(device));
	check(type_of(pinned) == cudaMemoryTypeHost, "a pinned pointer", "type %d",
	      type_of(pinned));
	check(type_of(managed) == cudaMemoryTypeManaged, "a managed pointer", "type %d",
	      type_of(managed));
	check(type_of(plain) == cudaMemoryTypeUnregistered, "a plain pointer", "type %d",
	      type_of(plain));
	NEED(cudaHostRegister(plain, 8192, cudaHostRegisterDefault));
	check(type_of(plain) == cudaMemoryTypeHost, "a registered pointer", "type %d",
	      type_of(plain));
	check(cudaHostRegister(plain, 8192, 0) == cudaErrorHostMemoryAlreadyRegistered, "not twice",
	      "twice");
	NEED(cudaHostUnregister(plain));
	*(int *)managed = 7;
	check(*(int *)managed == 7, "the host writes managed memory", "it cannot");
	check(cudaFree(plain) == cudaErrorInvalidValue, "freeing a foreign pointer is an error",
	      "it worked");
	check(cudaFree(NULL) == cudaSuccess, "freeing NULL is not an error", "an error");
	(void)cudaGetLastError();
}

static void limits(void)
{
	size_t free_bytes, total, after;
	void *most, *more = NULL;
	NEED(cudaMemGetInfo(&free_bytes, &total));
	check(total == 64ul << 20, "PROFSIM_MEMORY_MB", "%zu bytes", total);
	NEED(cudaMalloc(&most, 60 << 20));
	NEED(cudaMemGetInfo(&after, &total));
	check(free_bytes - after == 60ul << 20, "free memory goes down", "by %zu",
	      free_bytes - after);
	check(cudaMalloc(&more, 8 << 20) == cudaErrorMemoryAllocation, "out of memory", "%p", more);
	check(cudaPeekAtLastError() == cudaErrorMemoryAllocation, "the error is remembered",
	      "it is not");
	check(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess,
	      "and read once", "it is not");
	NEED(cudaFree(most));
	NEED(cudaMemGetInfo(&after, &total));
	check(after == free_bytes, "and up again", "%zu, not %zu", after, free_bytes);
}

static void virtual_memory(void)
{
	CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemAccessDesc access = { .location = properties.location,
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at;
	size_t grain;
	int in = 1234, out = 0;
	NEED(cuMemGetAllocationGranularity(&grain, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	NEED(cuMemAddressReserve(&at, 4 * grain, 0, 0, 0));
	NEED(cuMemCreate(&handle, grain, &properties, 0));
	NEED(cuMemMap(at, grain, 0, handle, 0));
	NEED(cuMemSetAccess(at, grain, &access, 1));
	NEED(cuMemcpyHtoD(at, &in, sizeof(in)));
	NEED(cuMemcpyDtoH(&out, at, sizeof(out)));
	check(out == 1234, "mapped memory holds data", "%d", out);
	check(cuMemcpyHtoD(at + 2 * grain, &in, sizeof(in)) == CUDA_ERROR_INVALID_VALUE,
	      "unmapped memory does not", "it does");
	check(cuMemAddressFree(at, 4 * grain) == CUDA_ERROR_INVALID_VALUE,
	      "a mapped range is not freed", "it is");
	NEED(cuMemUnmap(at, grain));
	NEED(cuMemRelease(handle));
	NEED(cuMemAddressFree(at, 4 * grain));
}

static void pools(void)
{
	void *p;
	cudaMemPool_t pool;
	uint64_t used = 1;
	cudaStream_t stream;
	NEED(cudaStreamCreate(&stream));
	NEED(cudaMallocAsync(&p, 1 << 20, stream));
	NEED(cudaDeviceGetDefaultMemPool(&pool, 0));
	NEED(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	check(used == 1 << 20, "a pool counts what is used", "%lu", (unsigned long)used);
	NEED(cudaMemsetAsync(p, 1, 1 << 20, stream));
	NEED(cudaFreeAsync(p, stream));
	NEED(cudaStreamSynchronize(stream));
	NEED(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	check(!used, "and what is freed", "%lu", (unsigned long)used);
}

static void errors(void)
{
	float *device;
	const void *kernel = kernel_named("k");
	dim3 one = { 1, 1, 1 }, many = { 2048, 1, 1 };
	NEED(cudaMalloc((void **)&device, 64));
	check(cudaLaunchKernel(kernel, one, many, NULL, 0, NULL) == cudaErrorInvalidConfiguration,
	      "too many threads", "launched");
	check(cudaLaunchKernel(errors, one, one, NULL, 0, NULL) != cudaSuccess, "no kernel",
	      "launched");
	check(cudaMemcpy(device, &one, 1000, cudaMemcpyHostToDevice) == cudaErrorInvalidValue,
	      "a copy beyond the end", "copied");
	check(cudaSetDevice(99) == cudaErrorInvalidDevice, "no such device", "there is");
	check(cudaStreamSynchronize((cudaStream_t)malloc(4096)) == cudaErrorInvalidResourceHandle,
	      "no such stream", "there is");
	check(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") &&
		      !strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"),
	      "names of errors", "%s", cudaGetErrorString(cudaErrorMemoryAllocation));
	(void)cudaGetLastError();
}

int main(void)
{
	limits();
	round_trips();
	results();
	tensor_maps();
	arrays();
	pointers();
	virtual_memory();
	pools();
	errors();
	return check_failed;
}
