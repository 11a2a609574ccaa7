/*
 * A runtime whose calls do nothing, under the real soname and version node, so that a call's cost
 * is that of the hook. The `bare_` names are the same functions without hooks: both are timed in
 * one process.
 */
#include "test/bench/stub_capture.h"

#include <cuda_runtime_api.h>

#define BOTH(symbol) __attribute__((visibility("default"))) __typeof__(symbol) symbol, bare_##symbol

BOTH(cudaLaunchKernel);
BOTH(cudaMemcpyAsync);
BOTH(cudaStreamSynchronize);
BOTH(cudaMalloc);
BOTH(cudaGraphLaunch);
BOTH(cudaStreamBeginCapture);
BOTH(cudaStreamEndCapture);
BOTH(cudaGraphInstantiate);

/* Makes a launch take time: the number of loops it waits for. */
__attribute__((visibility("default"))) int bare_launch_rounds;

/* What stub_driver.c says about the stream. A launch during a capture becomes a node. */
__attribute__((visibility("default"))) struct bare_capture bare_capture;

cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
			     cudaStream_t stream)
{
	(void)func, (void)grid, (void)block, (void)args, (void)shared, (void)stream;
	for (int i = bare_launch_rounds; i; i--)
		__asm__ volatile("");
	bare_capture.n_nodes += bare_capture.is_on;
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

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	(void)exec, (void)stream;
	__asm__ volatile("");
	return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	(void)stream, (void)mode;
	bare_capture.is_on = 1;
	bare_capture.n_nodes = 0;
	bare_capture.graph += 64;
	return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	(void)stream;
	bare_capture.is_on = 0;
	*graph = (cudaGraph_t)bare_capture.graph;
	return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	(void)flags;
	*exec = (cudaGraphExec_t)((char *)graph + 8);
	return cudaSuccess;
}

#define ALIAS(symbol) __attribute__((alias(#symbol)))

cudaError_t bare_cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args,
				  size_t shared, cudaStream_t stream) ALIAS(cudaLaunchKernel);
cudaError_t bare_cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
				 cudaStream_t stream) ALIAS(cudaMemcpyAsync);
cudaError_t bare_cudaStreamSynchronize(cudaStream_t stream) ALIAS(cudaStreamSynchronize);
cudaError_t bare_cudaMalloc(void **out, size_t size) ALIAS(cudaMalloc);
cudaError_t bare_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) ALIAS(cudaGraphLaunch);
cudaError_t bare_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
	ALIAS(cudaStreamBeginCapture);
cudaError_t bare_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
	ALIAS(cudaStreamEndCapture);
cudaError_t bare_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
				      unsigned long long flags) ALIAS(cudaGraphInstantiate);
