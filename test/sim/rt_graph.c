#include "test/sim/rt.h"
cudaError_t rt_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params) { (void)node,(void)graph,(void)dependencies,(void)edges,(void)count,(void)params; return cudaErrorNotSupported; }
