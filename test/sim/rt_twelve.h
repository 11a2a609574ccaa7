/*
 * Functions of libcudart.so.12 that CUDA 13 removed, or whose signature it changed. gen.py reads
 * these prototypes.
 */
#ifndef TEST_SIM_RT_TWELVE_H
#define TEST_SIM_RT_TWELVE_H

#include "test/sim/rt.h"

cudaError_t rt12_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					  const cudaGraphNode_t *to, size_t count);
cudaError_t rt12_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
				  const cudaGraphNode_t *dependencies, size_t count,
				  struct cudaGraphNodeParams *params);
cudaError_t rt12_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
				   size_t *count);
cudaError_t rt12_cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t from, cudaGraphNode_t to);
cudaError_t rt12_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *dependencies,
					      size_t *count);
cudaError_t rt12_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *dependents,
						size_t *count);
cudaError_t rt12_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					     const cudaGraphNode_t *to, size_t count);
cudaError_t rt12_cudaLaunchCooperativeKernelMultiDevice(void *list, unsigned count, unsigned flags);
cudaError_t rt12_cudaMemAdvise(const void *address, size_t bytes, enum cudaMemoryAdvise advice,
			       int device);
cudaError_t rt12_cudaMemPrefetchAsync(const void *address, size_t bytes, int device,
				      cudaStream_t stream);
cudaError_t rt12_cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *list,
					size_t *failed, unsigned long long flags,
					cudaStream_t stream);
cudaError_t rt12_cudaMemcpyBatchAsync(void **to, void **from, size_t *bytes, size_t count,
				      struct cudaMemcpyAttributes *attributes, size_t *indices,
				      size_t attribute_count, size_t *failed, cudaStream_t stream);
cudaError_t rt12_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
					  unsigned long long *id);
cudaError_t rt12_cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
					     enum cudaStreamCaptureStatus *status,
					     unsigned long long *id, cudaGraph_t *graph,
					     const cudaGraphNode_t **dependencies, size_t *count);
cudaError_t rt12_cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
						     cudaGraphNode_t *dependencies, size_t count,
						     unsigned flags);
cudaError_t rt12_cudaThreadExit(void);
cudaError_t rt12_cudaThreadSynchronize(void);
cudaError_t rt12_cudaThreadSetLimit(enum cudaLimit limit, size_t value);
cudaError_t rt12_cudaThreadGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t rt12_cudaThreadSetCacheConfig(enum cudaFuncCache config);
cudaError_t rt12_cudaThreadGetCacheConfig(enum cudaFuncCache *config);
cudaError_t rt12_cudaGetDeviceProperties(void *properties, int device);
cudaError_t rt12_cudaGetDeviceProperties_v2(void *properties, int device);

#endif
