/*
 * Graph calls of the runtime whose parameters differ from the driver's: they identify kernels by
 * host address, and describe copies and memsets with the runtime's structs. All other graph calls
 * are forwarded (rt_forward.def).
 */
#include "test/sim/rt.h"

#define P(pointer) ((CUdeviceptr)(pointer))

static cudaError_t kernel_driver(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *out)
{
	CUfunction f;
	if (!p)
		return cudaErrorInvalidValue;
	cudaError_t rc = rt_context() ?: rt_function(p->func, &f);
	*out = (CUDA_KERNEL_NODE_PARAMS){ .func = f,
					  .gridDimX = p->gridDim.x,
					  .gridDimY = p->gridDim.y,
					  .gridDimZ = p->gridDim.z,
					  .blockDimX = p->blockDim.x,
					  .blockDimY = p->blockDim.y,
					  .blockDimZ = p->blockDim.z,
					  .sharedMemBytes = p->sharedMemBytes,
					  .kernelParams = p->kernelParams,
					  .extra = p->extra };
	return rc;
}

static CUDA_MEMSET_NODE_PARAMS memset_driver(const struct cudaMemsetParams *p)
{
	return (CUDA_MEMSET_NODE_PARAMS){ .dst = P(p->dst),
					  .pitch = p->pitch,
					  .value = p->value,
					  .elementSize = p->elementSize,
					  .width = p->width,
					  .height = p->height };
}

static CUDA_MEMCPY3D linear_driver(void *to, const void *from, size_t bytes,
				   enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms p = { .srcPtr = { (void *)from, bytes, bytes, 1 },
				       .dstPtr = { to, bytes, bytes, 1 },
				       .extent = { bytes, 1, 1 },
				       .kind = kind };
	CUDA_MEMCPY3D out;
	rt_copy_3d_driver(&p, &out);
	return out;
}

cudaError_t rt_cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
				      const cudaGraphNode_t *dependencies, size_t count,
				      const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t rc = kernel_driver(params, &p);
	return rc ?: RT(DRV(cuGraphAddKernelNode_v2)(node, graph, dependencies, count, &p));
}

cudaError_t rt_cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
					    const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	return kernel_driver(params, &p) ?: RT(DRV(cuGraphKernelNodeSetParams_v2)(node, &p));
}

cudaError_t rt_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	return kernel_driver(params, &p)
		       ?: RT(DRV(cuGraphExecKernelNodeSetParams_v2)(exec, node, &p));
}

cudaError_t rt_cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *out)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t rc = rt_context() ?: RT(DRV(cuGraphKernelNodeGetParams_v2)(node, &p));
	if (!rc)
		*out = (struct cudaKernelNodeParams){
			.func = p.func,
			.gridDim = { p.gridDimX, p.gridDimY, p.gridDimZ },
			.blockDim = { p.blockDimX, p.blockDimY, p.blockDimZ },
			.sharedMemBytes = p.sharedMemBytes,
			.kernelParams = p.kernelParams,
			.extra = p.extra
		};
	return rc;
}

cudaError_t rt_cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
				      const cudaGraphNode_t *dependencies, size_t count,
				      const struct cudaMemsetParams *params)
{
	CUDA_MEMSET_NODE_PARAMS p = memset_driver(params);
	return rt_context()
		       ?: RT(DRV(cuGraphAddMemsetNode)(node, graph, dependencies, count, &p, NULL));
}

cudaError_t rt_cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
					    const struct cudaMemsetParams *params)
{
	CUDA_MEMSET_NODE_PARAMS p = memset_driver(params);
	return rt_context() ?: RT(DRV(cuGraphMemsetNodeSetParams)(node, &p));
}

cudaError_t rt_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						const struct cudaMemsetParams *params)
{
	CUDA_MEMSET_NODE_PARAMS p = memset_driver(params);
	return rt_context() ?: RT(DRV(cuGraphExecMemsetNodeSetParams)(exec, node, &p, NULL));
}

cudaError_t rt_cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *out)
{
	CUDA_MEMSET_NODE_PARAMS p;
	cudaError_t rc = rt_context() ?: RT(DRV(cuGraphMemsetNodeGetParams)(node, &p));
	if (!rc)
		*out = (struct cudaMemsetParams){ .dst = (void *)p.dst,
						  .pitch = p.pitch,
						  .value = p.value,
						  .elementSize = p.elementSize,
						  .width = p.width,
						  .height = p.height };
	return rc;
}

static cudaError_t memcpy_add(cudaGraphNode_t *node, cudaGraph_t graph,
			      const cudaGraphNode_t *dependencies, size_t count,
			      const CUDA_MEMCPY3D *copy)
{
	return rt_context()
		       ?: RT(DRV(cuGraphAddMemcpyNode)(node, graph, dependencies, count, copy,
						       NULL));
}

cudaError_t rt_cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph,
				      const cudaGraphNode_t *dependencies, size_t count,
				      const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D c;
	cudaError_t rc = rt_context() ?: rt_copy_3d_driver(params, &c);
	return rc ?: memcpy_add(node, graph, dependencies, count, &c);
}

cudaError_t rt_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
					const cudaGraphNode_t *dependencies, size_t count, void *to,
					const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	cudaError_t rc = rt_context();
	CUDA_MEMCPY3D c = linear_driver(to, from, bytes, kind);
	return rc ?: memcpy_add(node, graph, dependencies, count, &c);
}

cudaError_t rt_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
					      const cudaGraphNode_t *dependencies, size_t count,
					      const void *symbol, const void *from, size_t bytes,
					      size_t offset, enum cudaMemcpyKind kind)
{
	CUdeviceptr to;
	size_t size;
	cudaError_t rc = rt_symbol(symbol, &to, &size);
	return rc
		       ?: rt_cudaGraphAddMemcpyNode1D(node, graph, dependencies, count,
						      (char *)to + offset, from, bytes, kind);
}

cudaError_t rt_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
						const cudaGraphNode_t *dependencies, size_t count,
						void *to, const void *symbol, size_t bytes,
						size_t offset, enum cudaMemcpyKind kind)
{
	CUdeviceptr from;
	size_t size;
	cudaError_t rc = rt_symbol(symbol, &from, &size);
	return rc
		       ?: rt_cudaGraphAddMemcpyNode1D(node, graph, dependencies, count, to,
						      (char *)from + offset, bytes, kind);
}

cudaError_t rt_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
					    const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D c;
	cudaError_t rc = rt_context() ?: rt_copy_3d_driver(params, &c);
	return rc ?: RT(DRV(cuGraphMemcpyNodeSetParams)(node, &c));
}

cudaError_t rt_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from,
					      size_t bytes, enum cudaMemcpyKind kind)
{
	cudaError_t rc = rt_context();
	CUDA_MEMCPY3D c = linear_driver(to, from, bytes, kind);
	return rc ?: RT(DRV(cuGraphMemcpyNodeSetParams)(node, &c));
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D c;
	cudaError_t rc = rt_context() ?: rt_copy_3d_driver(params, &c);
	return rc ?: RT(DRV(cuGraphExecMemcpyNodeSetParams)(exec, node, &c, NULL));
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node,
						  void *to, const void *from, size_t bytes,
						  enum cudaMemcpyKind kind)
{
	cudaError_t rc = rt_context();
	CUDA_MEMCPY3D c = linear_driver(to, from, bytes, kind);
	return rc ?: RT(DRV(cuGraphExecMemcpyNodeSetParams)(exec, node, &c, NULL));
}

/*
 * Converts node parameters. Only the structs of kernels and copies differ; the other members of the
 * union are equal to the driver's.
 */
static cudaError_t params_driver(const struct cudaGraphNodeParams *p, CUgraphNodeParams *out)
{
	CUDA_KERNEL_NODE_PARAMS k;
	struct cudaKernelNodeParams plain;
	cudaError_t rc = cudaSuccess;
	memset(out, 0, sizeof(*out));
	_Static_assert(sizeof(*out) == sizeof(*p), "one layout");
	memcpy(out, p, sizeof(*out));
	if (p->type == cudaGraphNodeTypeKernel) {
		memset(&out->kernel, 0, sizeof(out->kernel));
		plain = (struct cudaKernelNodeParams){
			p->kernel.func,		  p->kernel.gridDim,	  p->kernel.blockDim,
			p->kernel.sharedMemBytes, p->kernel.kernelParams, p->kernel.extra
		};
		rc = kernel_driver(&plain, &k);
		memcpy(&out->kernel, &k, sizeof(k));
	} else if (p->type == cudaGraphNodeTypeMemcpy) {
		memset(&out->memcpy, 0, sizeof(out->memcpy));
		rc = rt_copy_3d_driver(&p->memcpy.copyParams, &out->memcpy.copyParams);
	}
	return rc;
}

cudaError_t rt_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
				const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges,
				size_t count, struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams p;
	(void)edges;
	if (!params)
		return cudaErrorInvalidValue;
	cudaError_t rc = rt_context() ?: params_driver(params, &p);
	if (!rc && params->type == cudaGraphNodeTypeConditional)
		rc = RT(DRV(cuCtxGetCurrent)(&p.conditional.ctx));
	if (!rc)
		rc = RT(DRV(cuGraphAddNode_v2)(node, graph, dependencies, NULL, count, &p));
	if (!rc && params->type == cudaGraphNodeTypeMemAlloc)
		params->alloc.dptr = (void *)p.alloc.dptr;
	if (!rc && params->type == cudaGraphNodeTypeConditional)
		params->conditional.phGraph_out = p.conditional.phGraph_out;
	return rc;
}

cudaError_t rt_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle,
						cudaGraph_t graph, unsigned value, unsigned flags)
{
	CUcontext context;
	CUgraphConditionalHandle made = 0;
	cudaError_t rc = rt_context() ?: RT(DRV(cuCtxGetCurrent)(&context));
	if (!rc)
		rc = RT(DRV(cuGraphConditionalHandleCreate)(handle ? &made : NULL, graph, context,
							    value, flags));
	if (!rc)
		*handle = made;
	return rc;
}

cudaError_t rt_cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams p;
	if (!params)
		return cudaErrorInvalidValue;
	return rt_context() ?: params_driver(params, &p) ?: RT(DRV(cuGraphNodeSetParams)(node, &p));
}

cudaError_t rt_cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					  struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams p;
	if (!params)
		return cudaErrorInvalidValue;
	cudaError_t rc = rt_context() ?: params_driver(params, &p);
	return rc ?: RT(DRV(cuGraphExecNodeSetParams)(exec, node, &p));
}

cudaError_t rt_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *out)
{
	return rt_context() ?: RT(DRV(cuGraphMemFreeNodeGetParams)(node, out));
}
