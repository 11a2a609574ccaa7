// Kernels, copies and memsets whose own data says at which line they were captured, so that a
// checker needs no second source: a kernel's name or its shared memory, a copy's or memset's size.
#ifndef TEST_GRAPHS_KNOWN_H
#define TEST_GRAPHS_KNOWN_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                        \
	do {                                                               \
		cudaError_t check_rc = (call);                             \
		if (check_rc != cudaSuccess) {                             \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				cudaGetErrorString(check_rc));             \
			exit(1);                                           \
		}                                                          \
	} while (0)

// The line is in the name: at<120>.
template <int line> __global__ void at()
{
}
// The line is the number of bytes of dynamic shared memory. All of these have one name, grid and
// block, so that only the order of capture distinguishes them.
template <int> __global__ void alike()
{
}

#define KERNEL(stream) at<__LINE__><<<1, 32, 0, (stream)>>>()
#define ALIKE(stream)  alike<0><<<1, 32, __LINE__, (stream)>>>()
// The line is the number of bytes.
#define MEMSET(stream) CHECK(cudaMemsetAsync(memory, 0, __LINE__, (stream)))
#define COPY(stream) \
	CHECK(cudaMemcpyAsync(pinned, memory, __LINE__, cudaMemcpyDeviceToHost, (stream)))

// Explicit nodes. `deps`: a std::vector of nodes.
#define ADD_KERNEL(node, graph, deps)                                                \
	CHECK(cudaGraphAddKernelNode(&(node), (graph), (deps).data(), (deps).size(), \
				     kernel_of((void *)at<__LINE__>)))
#define ADD_MEMSET(node, graph, deps)                                                \
	CHECK(cudaGraphAddMemsetNode(&(node), (graph), (deps).data(), (deps).size(), \
				     memset_of(__LINE__)))
#define ADD_COPY(node, graph, deps)                                                            \
	CHECK(cudaGraphAddMemcpyNode1D(&(node), (graph), (deps).data(), (deps).size(), pinned, \
				       memory, __LINE__, cudaMemcpyDeviceToHost))

#define BEGIN(stream) CHECK(cudaStreamBeginCapture((stream), cudaStreamCaptureModeThreadLocal))

constexpr size_t BYTES = 1 << 16;
extern char *memory, *pinned;

typedef std::vector<cudaGraphNode_t> nodes;

inline cudaGraph_t end(cudaStream_t stream)
{
	cudaGraph_t graph;
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

inline cudaGraphExec_t made(cudaGraph_t graph)
{
	cudaGraphExec_t exec;
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

inline const cudaKernelNodeParams *kernel_of(void *function)
{
	static cudaKernelNodeParams p;
	p = {};
	p.func = function;
	p.gridDim = dim3(1);
	p.blockDim = dim3(32);
	return &p;
}

inline const cudaMemsetParams *memset_of(size_t bytes)
{
	static cudaMemsetParams p;
	p = {};
	p.dst = memory;
	p.elementSize = 1;
	p.width = bytes;
	p.height = 1;
	return &p;
}

#endif
