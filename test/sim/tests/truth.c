/*
 * Work of every kind, with CUPTI's records written to stdout in the format of the truth file, for
 * run-tests.sh to compare.
 */
#include "test/sim/tests/check.h"

#include <cupti.h>

static void buffer_requested(uint8_t **buffer, size_t *bytes, size_t *most)
{
	*bytes = 1 << 20;
	*buffer = aligned_alloc(8, *bytes);
	*most = 0;
}

static uint64_t monotonic(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			     size_t valid)
{
	CUpti_Activity *r = NULL;
	(void)context, (void)stream, (void)bytes;
	while (!cuptiActivityGetNextRecord(buffer, valid, &r)) {
		if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			CUpti_ActivityKernel5 *k = (CUpti_ActivityKernel5 *)r;
			printf("kernel %s %u %lu %lu %u\n", k->name, k->streamId, k->start, k->end,
			       k->correlationId);
		} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
			CUpti_ActivityMemcpy5 *m = (CUpti_ActivityMemcpy5 *)r;
			printf("copy - %u %lu %lu %u\n", m->streamId, m->start, m->end,
			       m->correlationId);
		} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
			CUpti_ActivityMemset3 *m = (CUpti_ActivityMemset3 *)r;
			printf("memset memset %u %lu %lu %u\n", m->streamId, m->start, m->end,
			       m->correlationId);
		}
	}
	free(buffer);
}

static void nothing(void *data)
{
	(void)data;
}

int main(void)
{
	const void *kernels[] = { kernel_named("a_5us"), kernel_named("_Z6b_20usi"),
				  kernel_named("c") };
	cudaStream_t streams[3];
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	char *device, *pinned;
	NEED(cuptiActivityRegisterTimestampCallback(monotonic));
	NEED(cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed));
	NEED(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	NEED(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
	NEED(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	NEED(cudaMalloc((void **)&device, 1 << 16));
	NEED(cudaMallocHost((void **)&pinned, 1 << 16));
	for (int i = 0; i < 3; i++)
		NEED(cudaStreamCreateWithFlags(&streams[i], i ? cudaStreamNonBlocking : 0));
	NEED(cudaStreamBeginCapture(streams[1], cudaStreamCaptureModeRelaxed));
	for (int i = 0; i < 5; i++)
		launch(kernels[i % 3], streams[1]);
	NEED(cudaMemsetAsync(device, 0, 100, streams[1]));
	NEED(cudaStreamEndCapture(streams[1], &graph));
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 300; i++) {
		launch(kernels[i % 3], streams[i % 2]);
		if (i % 7 == 0)
			NEED(cudaMemcpyAsync(pinned, device, 1000, cudaMemcpyDeviceToHost,
					     streams[2]));
		if (i % 11 == 0)
			NEED(cudaMemsetAsync(device, 1, 1000, NULL));
		if (i % 50 == 0)
			NEED(cudaLaunchHostFunc(streams[i % 3], nothing, NULL));
		if (i % 40 == 0)
			NEED(cudaGraphLaunch(exec, streams[2]));
	}
	NEED(cudaDeviceSynchronize());
	NEED(cuptiActivityFlushAll(0));
	return 0;
}
