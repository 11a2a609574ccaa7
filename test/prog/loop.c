/*
 * A loop of steps that look like training: copy in, three kernels, a kernel that ends the step, loss back.
 *   loop STEPS [plain|graph|api|mark|bare|polls] [PAUSE_US [END_MS]]
 * graph launches the kernels as a CUDA graph; api puts each step between cudaProfilerStart and Stop; mark calls profrun_step() where there is
 * one; bare neither waits nor copies; polls asks for an event in place of copying and waiting, and the stream before that. A warm-up of two odd launches comes first, PAUSE_US of host work in every step (polls: between two questions, too), END_MS after the last one.
 * PACE_MS in the environment: the longest that each step waits for profrun to detect the steps.
 */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "test/prog/known.h"
#include "test/prog/work.h"

static const void *first, *middle, *last;
static cudaStream_t stream;

static void kernels(void)
{
	work_launch(first, 8, stream);
	work_launch(middle, 16, stream);
	work_launch(middle, 32, stream);
	work_launch(last, 8, stream);
}

static cudaGraphExec_t captured(void)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	kernels();
	MUST(cudaStreamEndCapture(stream, &graph));
	MUST(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void poll(cudaEvent_t done, useconds_t pause_us)
{
	if (cudaStreamQuery(stream) != cudaErrorNotReady)
		printf("no work left?\n");
	MUST(cudaEventRecord(done, stream));
	while (cudaEventQuery(done) == cudaErrorNotReady)
		if (pause_us)
			usleep(pause_us);
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 0;
	const char *how = argc > 2 ? argv[2] : "plain";
	useconds_t pause_us = argc > 3 ? (useconds_t)atoi(argv[3]) : 0;
	void (*mark)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "profrun_step");
	useconds_t end_ms = argc > 4 ? (useconds_t)atoi(argv[4]) : 0;
	float loss = 0, *p;
	int bare = !strcmp(how, "bare"), api = !strcmp(how, "api"), polls = !strcmp(how, "polls");
	cudaEvent_t done = NULL;
	first = work_kernel("first_10us");
	middle = work_kernel("spin_5us");
	last = work_kernel(polls ? "last_50000us" : "last_15us");
	MUST(cudaStreamCreate(&stream));
	if (polls)
		MUST(cudaEventCreate(&done));
	MUST(cudaMalloc((void **)&p, 4096));
	cudaGraphExec_t exec = strcmp(how, "graph") ? NULL : captured();
	work_launch(middle, 1, stream);
	work_launch(middle, 2, stream);
	for (int i = 0; i < steps; i++) {
		if (api)
			MUST(cudaProfilerStart());
		if (mark && !strcmp(how, "mark"))
			mark();
		if (!bare)
			MUST(cudaMemcpyAsync(p, &loss, sizeof(loss), cudaMemcpyHostToDevice,
					     stream));
		if (exec)
			MUST(cudaGraphLaunch(exec, stream));
		else
			kernels();
		if (!bare && !polls)
			MUST(cudaMemcpyAsync(&loss, p, sizeof(loss), cudaMemcpyDeviceToHost,
					     stream));
		if (polls)
			poll(done, pause_us);
		else if (!bare)
			MUST(cudaStreamSynchronize(stream));
		if (pause_us)
			usleep(pause_us);
		known_pace();
		if (api)
			MUST(cudaProfilerStop());
	}
	MUST(cudaDeviceSynchronize());
	known_end();
	usleep(end_ms * 1000);
	printf("%d steps\n", steps);
	return 0;
}
