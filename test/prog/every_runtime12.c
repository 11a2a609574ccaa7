/*
 * The rows of hooks.def that only CUDA 12's libcudart has, and those whose signature differed
 * there. Linked with it, so declared here as its headers did. every.h says what is printed.
 */
#include <stddef.h>

#include "test/prog/every.h"
#include "test/prog/register.h"

struct dim {
	unsigned x, y, z;
};

struct launch_parameters {
	const void *function;
	struct dim grid, block;
	void **args;
	size_t shared;
	void *stream;
};

struct location {
	int type, id;
};

/* struct cudaGraphNodeParams of a memset node */
struct memset_node {
	int type, reserved[3];
	void *to;
	size_t pitch;
	unsigned value, element_bytes;
	size_t width, height;
	long long rest[26];
};

int cudaGraphCreate(void **graph, unsigned flags);
int cudaGraphAddNode(void **node, void *graph, const void **dependencies, size_t count,
		     struct memset_node *parameters);
int cudaGraphAddNode_v2(void **node, void *graph, const void **dependencies, const void *edges,
			size_t count, struct memset_node *parameters);
int cudaEventCreate(void **event);
int cudaEventElapsedTime_v2(float *ms, void *begin, void *end);
int cudaEventRecord(void *event, void *stream);
int cudaDeviceSynchronize(void);
int cudaStreamCreate(void **stream);
int cudaMalloc(void **p, size_t bytes);
int cudaMallocManaged(void **p, size_t bytes, unsigned flags);
int cudaMemPrefetchAsync(const void *p, size_t bytes, int device, void *stream);
int cudaMemPrefetchAsync_ptsz(const void *p, size_t bytes, int device, void *stream);
int cudaMemPrefetchAsync_v2(const void *p, size_t bytes, struct location location, unsigned flags,
			    void *stream);
int cudaMemPrefetchAsync_v2_ptsz(const void *p, size_t bytes, struct location location,
				 unsigned flags, void *stream);
int cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count, void *attributes,
			 size_t *first, size_t n, size_t *failed, void *stream);
int cudaLaunchCooperativeKernelMultiDevice(struct launch_parameters *list, unsigned count,
					   unsigned flags);

int main(void)
{
	enum { BYTES = 65536 };
	void *stream = NULL, *begin = NULL, *end = NULL, *p = NULL, *q = NULL;
	float ms = 0;
	__cudaRegisterFatBinaryEnd(register_spin());
	CALL(cudaStreamCreate, (&stream), "stream=%lx", HEX(stream));
	CALL(cudaMallocManaged, (&p, BYTES, 1), "arg=%lx bytes=%x", HEX(p), BYTES);
	CALL(cudaMalloc, (&q, BYTES), "arg=%lx bytes=%x", HEX(q), BYTES);
	void *graph = NULL, *node = NULL;
	struct memset_node set = {
		.type = 2, .to = q, .element_bytes = 4, .width = 8, .height = 1
	};
	CALL(cudaGraphCreate, (&graph, 0), "arg=%lx", HEX(graph));
	CALL(cudaGraphAddNode, (&node, graph, NULL, 0, &set), "arg=20");
	CALL(cudaGraphAddNode_v2, (&node, graph, NULL, NULL, 0, &set), "arg=20");
	struct location device = { .type = 1, .id = 0 };
	CALL_SZ(cudaMemPrefetchAsync, (p, BYTES, 0, stream), "arg=%x", BYTES);
	CALL_SZ(cudaMemPrefetchAsync_v2, (p, BYTES, device, 0, stream), "arg=%x", BYTES);
	void *to[] = { q }, *from[] = { (char *)q + 4096 };
	size_t sizes[] = { 512 }, first[] = { 0 }, failed = SIZE_MAX;
	struct {
		int order;
		struct location source, destination;
		unsigned flags;
	} attributes = { .order = 1 /* in stream order */ };
	CALL(cudaMemcpyBatchAsync, (to, from, sizes, 1, &attributes, first, 1, &failed, stream),
	     "arg=200");
	struct launch_parameters list[] = {
		{ (const void *)(uintptr_t)spin_5us, { 2, 1, 1 }, { 32, 1, 1 }, NULL, 0, stream }
	};
	CALL(cudaLaunchCooperativeKernelMultiDevice, (list, 1, 0),
	     "stream=%lx grid=2,1,1 block=32,1,1 name=spin_5us", HEX(stream));
	CALL(cudaEventCreate, (&begin), "arg=%lx", HEX(begin));
	CALL(cudaEventCreate, (&end), "arg=%lx", HEX(end));
	CALL(cudaEventRecord, (begin, stream), "stream=%lx arg=%lx", HEX(stream), HEX(begin));
	CALL(cudaEventRecord, (end, stream), "stream=%lx arg=%lx", HEX(stream), HEX(end));
	CALL(cudaDeviceSynchronize, (), "cat=sync");
	CALL(cudaEventElapsedTime_v2, (&ms, begin, end), "arg=%lx", HEX(begin));
	return 0;
}
