/*
 * A driver that only says what the stub runtime captures, as a driver before 13.1 does: without the
 * numbers of nodes.
 */
#include "test/bench/stub_capture.h"

#include <cuda.h>

__attribute__((
	visibility("default"))) __typeof__(cuStreamGetCaptureInfo_v3) cuStreamGetCaptureInfo_v3;
__attribute__((visibility("default"))) __typeof__(cuGraphGetNodes) cuGraphGetNodes;

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
				   CUgraph *graph, const CUgraphNode **nodes,
				   const CUgraphEdgeData **edges, size_t *n)
{
	static CUgraphNode last;
	(void)stream, (void)id, (void)edges;
	*status = bare_capture.is_on ? CU_STREAM_CAPTURE_STATUS_ACTIVE
				     : CU_STREAM_CAPTURE_STATUS_NONE;
	if (!bare_capture.is_on)
		return CUDA_SUCCESS;
	last = (CUgraphNode)(bare_capture.graph << 16 | bare_capture.n_nodes);
	*graph = (CUgraph)bare_capture.graph;
	*nodes = &last;
	*n = bare_capture.n_nodes > 0;
	return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	(void)graph, (void)nodes;
	*n = bare_capture.n_nodes;
	return CUDA_SUCCESS;
}
