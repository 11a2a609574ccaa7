/* A captured step calls the host in its middle, and the GPU waits while the host works. */
#include "kit.h"

static cudaKernel_t draft, accept;

static void choose(void *)
{
	kit::spin(500);
}

static cudaGraphExec_t captured(cudaStream_t stream, bool fixed)
{
	cudaGraph_t made;
	cudaGraphExec_t graph;
	kit::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < 3; i++)
		LAUNCH(draft, stream);
	if (!fixed)
		kit::check(cudaLaunchHostFunc(stream, choose, nullptr)); // PLANTED
	LAUNCH(accept, stream);
	kit::check(cudaStreamEndCapture(stream, &made));
	kit::check(cudaGraphInstantiate(&graph, made, 0));
	return graph;
}

int main()
{
	cudaStream_t stream = kit::stream();
	draft = kit::kernel("draft_100us"), accept = kit::kernel("accept_200us");
	cudaGraphExec_t slow = captured(stream, false), fast = captured(stream, true);
	kit::pace pace;
	return kit::measure([&](int i, bool fixed) {
		pace.wait(i);
		kit::check(cudaGraphLaunch(fixed ? fast : slow, stream));
		pace.mark(i, stream);
	});
}
