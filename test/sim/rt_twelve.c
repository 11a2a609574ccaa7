/*
 * Where libcudart.so.12 differs from 13: old signatures, implemented by the new functions, and the
 * functions that 13 removed.
 */
#include "test/sim/rt_twelve.h"

#if SIM_CUDART == 12

/* Removed in CUDA 13, so its header does not declare the struct. */
struct rt12_launch_params {
	void *function;
	dim3 grid, block;
	void **args;
	size_t shared;
	cudaStream_t stream;
};

cudaError_t rt12_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					  const cudaGraphNode_t *to, size_t count)
{
	return rt_cudaGraphAddDependencies(graph, from, to, NULL, count);
}

cudaError_t rt12_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					     const cudaGraphNode_t *to, size_t count)
{
	return rt_cudaGraphRemoveDependencies(graph, from, to, NULL, count);
}

cudaError_t rt12_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
				  const cudaGraphNode_t *dependencies, size_t count,
				  struct cudaGraphNodeParams *params)
{
	return rt_cudaGraphAddNode(node, graph, dependencies, NULL, count, params);
}

cudaError_t rt12_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
				   size_t *count)
{
	return rt_cudaGraphGetEdges(graph, from, to, NULL, count);
}

cudaError_t rt12_cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t from, cudaGraphNode_t to)
{
	return rt_cudaGraphKernelNodeCopyAttributes(to, from);
}

cudaError_t rt12_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *dependencies,
					      size_t *count)
{
	return rt_cudaGraphNodeGetDependencies(node, dependencies, NULL, count);
}

cudaError_t rt12_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *dependents,
						size_t *count)
{
	return rt_cudaGraphNodeGetDependentNodes(node, dependents, NULL, count);
}

cudaError_t rt12_cudaLaunchCooperativeKernelMultiDevice(void *list, unsigned count, unsigned flags)
{
	struct rt12_launch_params *p = list;
	cudaError_t rc = cudaSuccess;
	(void)flags;
	for (unsigned i = 0; i < count && !rc; i++)
		rc = rt_cudaLaunchCooperativeKernel(p[i].function, p[i].grid, p[i].block, p[i].args,
						    p[i].shared, p[i].stream);
	return rc;
}

static struct cudaMemLocation location_of(int device)
{
	return device < 0 ? (struct cudaMemLocation){ .type = cudaMemLocationTypeHost }
			  : (struct cudaMemLocation){ .type = cudaMemLocationTypeDevice,
						      .id = device };
}

cudaError_t rt12_cudaMemAdvise(const void *address, size_t bytes, enum cudaMemoryAdvise advice,
			       int device)
{
	return rt_cudaMemAdvise(address, bytes, advice, location_of(device));
}

cudaError_t rt12_cudaMemPrefetchAsync(const void *address, size_t bytes, int device,
				      cudaStream_t stream)
{
	return rt_cudaMemPrefetchAsync(address, bytes, location_of(device), 0, stream);
}

cudaError_t rt12_cudaMemcpyBatchAsync(void **to, void **from, size_t *bytes, size_t count,
				      struct cudaMemcpyAttributes *attributes, size_t *indices,
				      size_t attribute_count, size_t *failed, cudaStream_t stream)
{
	(void)attributes, (void)indices, (void)attribute_count;
	return rt_context()
		       ?: RT(DRV(cuMemcpyBatchAsync)((CUdeviceptr *)to, (CUdeviceptr *)from, bytes,
						     count, NULL, NULL, 0, failed, stream));
}

cudaError_t rt12_cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *list,
					size_t *failed, unsigned long long flags,
					cudaStream_t stream)
{
	return rt_context()
		       ?: RT(DRV(cuMemcpy3DBatchAsync)(count, (CUDA_MEMCPY3D_BATCH_OP *)list,
						       failed, flags, stream));
}

cudaError_t rt12_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
					  unsigned long long *id)
{
	return rt_cudaStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL);
}

cudaError_t rt12_cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
					     enum cudaStreamCaptureStatus *status,
					     unsigned long long *id, cudaGraph_t *graph,
					     const cudaGraphNode_t **dependencies, size_t *count)
{
	return rt_cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, NULL, count);
}

cudaError_t rt12_cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
						     cudaGraphNode_t *dependencies, size_t count,
						     unsigned flags)
{
	return rt_cudaStreamUpdateCaptureDependencies(stream, dependencies, NULL, count, flags);
}

cudaError_t rt12_cudaThreadExit(void)
{
	return rt_cudaDeviceReset();
}

cudaError_t rt12_cudaThreadSynchronize(void)
{
	return rt_cudaDeviceSynchronize();
}

cudaError_t rt12_cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
	return rt_cudaDeviceSetLimit(limit, value);
}

cudaError_t rt12_cudaThreadGetLimit(size_t *value, enum cudaLimit limit)
{
	return rt_cudaDeviceGetLimit(value, limit);
}

cudaError_t rt12_cudaThreadSetCacheConfig(enum cudaFuncCache config)
{
	return rt_cudaDeviceSetCacheConfig(config);
}

cudaError_t rt12_cudaThreadGetCacheConfig(enum cudaFuncCache *config)
{
	return rt_cudaDeviceGetCacheConfig(config);
}

#endif
