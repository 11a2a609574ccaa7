/*
 * A runtime whose calls do nothing, under the real soname and version node, so that a call's cost
 * is that of the hook. The `bare_` names are the same functions without hooks: both are timed in
 * one process.
 */
#include <cuda_runtime_api.h>

#define BOTH(symbol) __attribute__((visibility("default"))) __typeof__(symbol) symbol, bare_##symbol

BOTH(cudaLaunchKernel);
BOTH(cudaMemcpyAsync);
BOTH(cudaStreamSynchronize);
BOTH(cudaMalloc);

/* Makes a launch take time: the number of loops it waits for. */
__attribute__((visibility("default"))) int bare_launch_rounds;

cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
			     cudaStream_t stream)
{
	(void)func, (void)grid, (void)block, (void)args, (void)shared, (void)stream;
	for (int i = bare_launch_rounds; i; i--)
		__asm__ volatile("");
	return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
			    cudaStream_t stream)
{
	(void)dst, (void)src, (void)count, (void)kind, (void)stream;
	__asm__ volatile("");
	return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	(void)stream;
	__asm__ volatile("");
	return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t size)
{
	*out = (void *)(size & 15);
	return cudaSuccess;
}

#define ALIAS(symbol) __attribute__((alias(#symbol)))

cudaError_t bare_cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args,
				  size_t shared, cudaStream_t stream) ALIAS(cudaLaunchKernel);
cudaError_t bare_cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
				 cudaStream_t stream) ALIAS(cudaMemcpyAsync);
cudaError_t bare_cudaStreamSynchronize(cudaStream_t stream) ALIAS(cudaStreamSynchronize);
cudaError_t bare_cudaMalloc(void **out, size_t size) ALIAS(cudaMalloc);
