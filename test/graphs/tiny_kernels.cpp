/* A captured step has a long chain of small kernels; the fixed twin has one that does the same. */
#include "kit.h"

static cudaKernel_t gemm, small, fused;

static cudaGraphExec_t captured(cudaStream_t stream, bool fixed)
{
	cudaGraph_t made;
	cudaGraphExec_t graph;
	kit::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	LAUNCH(gemm, stream);
	for (int i = 0; i < (fixed ? 0 : 120); i++)
		LAUNCH(small, stream); // PLANTED
	if (fixed)
		LAUNCH(fused, stream);
	kit::check(cudaStreamEndCapture(stream, &made));
	kit::check(cudaGraphInstantiate(&graph, made, 0));
	return graph;
}

int main()
{
	cudaStream_t stream = kit::stream();
	gemm = kit::kernel("gemm_200us"), small = kit::kernel("small_4us");
	fused = kit::kernel("fused_20us");
	cudaGraphExec_t slow = captured(stream, false), fast = captured(stream, true);
	kit::pace pace;
	return kit::measure([&](int i, bool fixed) {
		pace.wait(i);
		kit::check(cudaGraphLaunch(fixed ? fast : slow, stream));
		pace.mark(i, stream);
	});
}
