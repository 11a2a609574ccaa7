/*
 * A loop of steps that copy within the device, on a stream of their own, so that such a copy is
 * always under way.
 *   copies STEPS MS [plain|graph]     a step takes MS; graph: a graph is instantiated before the
 *                                     loop and launched in each step
 * Prints "N steps".
 */
#include <string.h>
#include <unistd.h>

#include "test/prog/work.h"

enum { AHEAD = 4, BYTES = 64 << 20 };

static cudaGraphExec_t captured(const void *kernel, cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	work_launch(kernel, 3, stream);
	work_launch(kernel, 4, stream);
	MUST(cudaStreamEndCapture(stream, &graph));
	MUST(cudaGraphInstantiate(&exec, graph, 0));
	MUST(cudaGraphDestroy(graph));
	return exec;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 0;
	useconds_t us = argc > 2 ? (useconds_t)atoi(argv[2]) * 1000 : 0;
	const void *first = work_kernel("first_10us"), *last = work_kernel("last_15us");
	cudaStream_t work, copies;
	cudaEvent_t done[AHEAD];
	char *from, *to;
	MUST(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
	MUST(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
	MUST(cudaMalloc((void **)&from, BYTES));
	MUST(cudaMalloc((void **)&to, BYTES));
	for (int i = 0; i < AHEAD; i++)
		MUST(cudaEventCreate(&done[i]));
	cudaGraphExec_t exec = argc > 3 && !strcmp(argv[3], "graph") ? captured(first, work) : NULL;
	for (int i = 0; i < steps; i++) {
		if (i >= AHEAD)
			MUST(cudaEventSynchronize(done[i % AHEAD]));
		work_launch(first, 8, work);
		if (exec)
			MUST(cudaGraphLaunch(exec, work));
		MUST(cudaMemcpyAsync(to, from, BYTES, cudaMemcpyDeviceToDevice, copies));
		MUST(cudaEventRecord(done[i % AHEAD], copies));
		work_launch(last, 8, work);
		usleep(us);
	}
	MUST(cudaDeviceSynchronize());
	printf("%d steps\n", steps);
	return 0;
}
