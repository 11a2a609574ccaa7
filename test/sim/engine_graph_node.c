/*
 * Graph nodes by type: sets, reads and changes their parameters. Every typed call fills in one
 * member of CUgraphNodeParams and makes the generic call. Runs on the application's threads.
 */
#include "test/sim/engine_graph.h"

static CUresult kernel_set(struct graph_node *n)
{
	const CUDA_KERNEL_NODE_PARAMS_v3 *p = &n->params.kernel;
	struct op_request unused = { .duration_ns = 0 };
	n->launch.kernel = kernel_checked(p->func ? (const void *)p->func : (const void *)p->kern);
	memcpy(n->launch.grid, (uint32_t[]){ p->gridDimX, p->gridDimY, p->gridDimZ },
	       sizeof(n->launch.grid));
	memcpy(n->launch.block, (uint32_t[]){ p->blockDimX, p->blockDimY, p->blockDimZ },
	       sizeof(n->launch.block));
	n->launch.shared = p->sharedMemBytes;
	return kernel_describe(&n->launch, &unused);
}

static CUresult child_set(struct graph_node *n)
{
	struct graph *g = graph_checked(n->params.graph.graph);
	if (!g)
		return CUDA_ERROR_INVALID_VALUE;
	if (graph_has_type(g, CU_GRAPH_NODE_TYPE_CONDITIONAL))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (n->child)
		graph_destroy(n->child);
	n->child = graph_clone(g);
	n->child->owned = true;
	n->params.graph.graph = (CUgraph)n->child;
	return CUDA_SUCCESS;
}

/* Allocates the memory of an allocation node. It exists from now on, forever. Only the node's
 * position in the order is simulated. */
static CUresult memory_set(struct graph_node *n)
{
	struct context *c;
	struct allocation *a;
	if (n->params.alloc.dptr)
		return CUDA_SUCCESS;
	CUresult rc = engine_context_current(&c)
			      ?: memory_allocate(c->device, SIM_MEMORY_DEVICE,
						 n->params.alloc.bytesize, &a);
	if (!rc)
		n->params.alloc.dptr = a->range.start;
	return rc;
}

CUresult node_params_set(struct graph_node *n, const CUgraphNodeParams *params)
{
	const CUDA_MEMSET_NODE_PARAMS_v2 *s = &params->memset;
	if (n->body_count) /* a conditional node cannot be changed */
		return CUDA_ERROR_NOT_SUPPORTED;
	n->params = *params;
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return kernel_set(n);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		n->move = (struct move){ .copy = copy_from_3d(&params->memcpy.copyParams) };
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		n->move = move_set(s->dst, s->pitch, s->value, s->elementSize, s->width, s->height);
		return s->elementSize == 1 || s->elementSize == 2 || s->elementSize == 4
			       ? CUDA_SUCCESS
			       : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_HOST:
		return params->host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return child_set(n);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return event_checked(params->eventWait.event) ? CUDA_SUCCESS
							      : CUDA_ERROR_INVALID_HANDLE;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return memory_set(n);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return condition_set(n);
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult sim_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			       const CUgraphEdgeData *edges, size_t count,
			       CUgraphNodeParams *params)
{
	struct graph *g = graph_checked(graph);
	(void)edges;
	if (!g || !node || !params || (count && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	struct graph_node *n =
		node_add(g, params->type, (struct graph_node *const *)dependencies, count);
	CUresult rc = n ? node_params_set(n, params) : CUDA_ERROR_INVALID_VALUE;
	if (rc && n)
		node_remove(n);
	if (!rc) {
		*node = (CUgraphNode)n;
		if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
			params->alloc.dptr = n->params.alloc.dptr;
		if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
			params->conditional.phGraph_out = n->params.conditional.phGraph_out;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			    size_t count, CUgraphNodeParams *params)
{
	return sim_cuGraphAddNode_v2(node, graph, dependencies, NULL, count, params);
}

CUresult sim_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
	struct graph_node *n = node_checked(node);
	if (!n || !params || n->params.type != params->type)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = node_params_set(n, params);
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
	struct graph_exec *e = exec_checked(exec);
	struct graph_node *n = e ? exec_node(e, node) : NULL;
	return n ? sim_cuGraphNodeSetParams((CUgraphNode)n, params) : CUDA_ERROR_INVALID_VALUE;
}

#define PARAMS(name, given, number, member)                    \
	static CUgraphNodeParams params_##name(const given *p) \
	{                                                      \
		CUgraphNodeParams out = { .type = number };    \
		memcpy(&out.member, p, sizeof(*p));            \
		return out;                                    \
	}
PARAMS(kernel, CUDA_KERNEL_NODE_PARAMS, CU_GRAPH_NODE_TYPE_KERNEL, kernel)
/* The first version of the struct lacks the last member, `kern`. */
PARAMS(kernel_v1, CUDA_KERNEL_NODE_PARAMS_v1, CU_GRAPH_NODE_TYPE_KERNEL, kernel)
PARAMS(memset, CUDA_MEMSET_NODE_PARAMS, CU_GRAPH_NODE_TYPE_MEMSET, memset)
PARAMS(host, CUDA_HOST_NODE_PARAMS, CU_GRAPH_NODE_TYPE_HOST, host)

static CUgraphNodeParams params_memcpy(const CUDA_MEMCPY3D *p)
{
	return (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMCPY, .memcpy.copyParams = *p };
}

static CUgraphNodeParams params_event(CUgraphNodeType type, CUevent event)
{
	return (CUgraphNodeParams){ .type = type, .eventWait.event = event };
}

CUresult sim_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
				     const CUgraphNode *dependencies, size_t count,
				     const CUDA_KERNEL_NODE_PARAMS *params)
{
	CUgraphNodeParams p = params_kernel(params);
	return sim_cuGraphAddNode(node, graph, dependencies, count, &p);
}

CUresult sim_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				  size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUgraphNodeParams p = params_kernel_v1(params);
	return sim_cuGraphAddNode(node, graph, dependencies, count, &p);
}

CUresult sim_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				  size_t count, const CUDA_MEMCPY3D *params, CUcontext context)
{
	CUgraphNodeParams p = params_memcpy(params);
	(void)context;
	return sim_cuGraphAddNode(node, graph, dependencies, count, &p);
}

CUresult sim_cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				  size_t count, const CUDA_MEMSET_NODE_PARAMS *params,
				  CUcontext context)
{
	CUgraphNodeParams p = params_memset(params);
	(void)context;
	return sim_cuGraphAddNode(node, graph, dependencies, count, &p);
}

CUresult sim_cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				size_t count, const CUDA_HOST_NODE_PARAMS *params)
{
	CUgraphNodeParams p = params_host(params);
	return sim_cuGraphAddNode(node, graph, dependencies, count, &p);
}

CUresult sim_cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph,
				      const CUgraphNode *dependencies, size_t count, CUgraph child)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph.graph = child };
	return sim_cuGraphAddNode(node, graph, dependencies, count, &p);
}

CUresult sim_cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				 size_t count)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_EMPTY };
	return sim_cuGraphAddNode(node, graph, dependencies, count, &p);
}

CUresult sim_cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph,
				       const CUgraphNode *dependencies, size_t count, CUevent event)
{
	CUgraphNodeParams p = params_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
	return sim_cuGraphAddNode(node, graph, dependencies, count, &p);
}

CUresult sim_cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph,
				     const CUgraphNode *dependencies, size_t count, CUevent event)
{
	CUgraphNodeParams p = params_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
	return sim_cuGraphAddNode(node, graph, dependencies, count, &p);
}

CUresult sim_cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph,
				    const CUgraphNode *dependencies, size_t count,
				    CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	memcpy(&p.alloc, params, sizeof(*params));
	p.alloc.dptr = 0;
	CUresult rc = sim_cuGraphAddNode(node, graph, dependencies, count, &p);
	if (!rc)
		params->dptr = p.alloc.dptr;
	return rc;
}

CUresult sim_cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph,
				   const CUgraphNode *dependencies, size_t count,
				   CUdeviceptr address)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free.dptr = address };
	return sim_cuGraphAddNode(node, graph, dependencies, count, &p);
}

static struct graph_node *node_of_type(CUgraphNode node, CUgraphNodeType type)
{
	struct graph_node *n = node_checked(node);
	return n && n->params.type == type ? n : NULL;
}

/* Define cuGraph<Type>NodeGetParams, SetParams and cuGraphExec<Type>NodeSetParams. */
#define NODE_GET(name, node_type, member, out_type)                                        \
	CUresult sim_##name(CUgraphNode node, out_type *out)                               \
	{                                                                                  \
		struct graph_node *n = node_of_type(node, CU_GRAPH_NODE_TYPE_##node_type); \
		if (!n || !out)                                                            \
			return CUDA_ERROR_INVALID_VALUE;                                   \
		memcpy(out, &n->params.member, sizeof(*out));                              \
		return CUDA_SUCCESS;                                                       \
	}

NODE_GET(cuGraphKernelNodeGetParams_v2, KERNEL, kernel, CUDA_KERNEL_NODE_PARAMS)
NODE_GET(cuGraphKernelNodeGetParams, KERNEL, kernel, CUDA_KERNEL_NODE_PARAMS_v1)
NODE_GET(cuGraphMemcpyNodeGetParams, MEMCPY, memcpy.copyParams, CUDA_MEMCPY3D)
NODE_GET(cuGraphMemsetNodeGetParams, MEMSET, memset, CUDA_MEMSET_NODE_PARAMS)
NODE_GET(cuGraphHostNodeGetParams, HOST, host, CUDA_HOST_NODE_PARAMS)
NODE_GET(cuGraphChildGraphNodeGetGraph, GRAPH, graph.graph, CUgraph)
NODE_GET(cuGraphEventRecordNodeGetEvent, EVENT_RECORD, eventRecord.event, CUevent)
NODE_GET(cuGraphEventWaitNodeGetEvent, WAIT_EVENT, eventWait.event, CUevent)
NODE_GET(cuGraphMemAllocNodeGetParams, MEM_ALLOC, alloc, CUDA_MEM_ALLOC_NODE_PARAMS)
NODE_GET(cuGraphMemFreeNodeGetParams, MEM_FREE, free.dptr, CUdeviceptr)

#define NODE_SET(name, convert, in_type)                   \
	CUresult sim_##name(CUgraphNode node, in_type in)  \
	{                                                  \
		CUgraphNodeParams p = convert;             \
		return sim_cuGraphNodeSetParams(node, &p); \
	}

NODE_SET(cuGraphKernelNodeSetParams_v2, params_kernel(in), const CUDA_KERNEL_NODE_PARAMS *)
NODE_SET(cuGraphKernelNodeSetParams, params_kernel_v1(in), const CUDA_KERNEL_NODE_PARAMS_v1 *)
NODE_SET(cuGraphMemcpyNodeSetParams, params_memcpy(in), const CUDA_MEMCPY3D *)
NODE_SET(cuGraphMemsetNodeSetParams, params_memset(in), const CUDA_MEMSET_NODE_PARAMS *)
NODE_SET(cuGraphHostNodeSetParams, params_host(in), const CUDA_HOST_NODE_PARAMS *)
NODE_SET(cuGraphEventRecordNodeSetEvent, params_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, in), CUevent)
NODE_SET(cuGraphEventWaitNodeSetEvent, params_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, in), CUevent)

#define EXEC_SET(name, convert, in_type)                                    \
	CUresult sim_##name(CUgraphExec exec, CUgraphNode node, in_type in) \
	{                                                                   \
		CUgraphNodeParams p = convert;                              \
		return sim_cuGraphExecNodeSetParams(exec, node, &p);        \
	}

EXEC_SET(cuGraphExecKernelNodeSetParams_v2, params_kernel(in), const CUDA_KERNEL_NODE_PARAMS *)
EXEC_SET(cuGraphExecKernelNodeSetParams, params_kernel_v1(in), const CUDA_KERNEL_NODE_PARAMS_v1 *)
EXEC_SET(cuGraphExecHostNodeSetParams, params_host(in), const CUDA_HOST_NODE_PARAMS *)
EXEC_SET(cuGraphExecEventRecordNodeSetEvent, params_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, in),
	 CUevent)
EXEC_SET(cuGraphExecEventWaitNodeSetEvent, params_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, in), CUevent)

CUresult sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    const CUDA_MEMCPY3D *params, CUcontext context)
{
	CUgraphNodeParams p = params_memcpy(params);
	(void)context;
	return sim_cuGraphExecNodeSetParams(exec, node, &p);
}

CUresult sim_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    const CUDA_MEMSET_NODE_PARAMS *params,
					    CUcontext context)
{
	CUgraphNodeParams p = params_memset(params);
	(void)context;
	return sim_cuGraphExecNodeSetParams(exec, node, &p);
}

CUresult sim_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph.graph = child };
	return sim_cuGraphExecNodeSetParams(exec, node, &p);
}

CUresult sim_cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
	struct graph_node *a = node_of_type(to, CU_GRAPH_NODE_TYPE_KERNEL);
	struct graph_node *b = node_of_type(from, CU_GRAPH_NODE_TYPE_KERNEL);
	if (!a || !b)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(a->launch.cluster, b->launch.cluster, sizeof(a->launch.cluster));
	a->launch.cooperative = b->launch.cooperative;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
					   CUkernelNodeAttrValue *value)
{
	struct graph_node *n = node_of_type(node, CU_GRAPH_NODE_TYPE_KERNEL);
	if (!n || !value)
		return CUDA_ERROR_INVALID_VALUE;
	memset(value, 0, sizeof(*value));
	if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		value->cooperative = n->launch.cooperative;
	if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
		memcpy(&value->clusterDim, n->launch.cluster, sizeof(n->launch.cluster));
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
					   const CUkernelNodeAttrValue *value)
{
	struct graph_node *n = node_of_type(node, CU_GRAPH_NODE_TYPE_KERNEL);
	if (!n || !value)
		return CUDA_ERROR_INVALID_VALUE;
	if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		n->launch.cooperative = value->cooperative;
	if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
		memcpy(n->launch.cluster, &value->clusterDim, sizeof(n->launch.cluster));
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGraphMemTrim(CUdevice device)
{
	(void)device;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
					  void *value)
{
	(void)device, (void)attribute;
	*(uint64_t *)value = 0;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
					  void *value)
{
	(void)device, (void)attribute, (void)value;
	return CUDA_SUCCESS;
}
