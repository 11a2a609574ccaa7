/* Nothing to fix: a graph of small kernels that keeps the GPU busy, launched ahead. */
#include "kit.h"

int main()
{
	cudaStream_t stream = kit::stream();
	cudaKernel_t mix = kit::kernel("mix_15us"), scale = kit::kernel("scale_10us"),
		     reduce = kit::kernel("reduce_200us");
	cudaGraph_t made;
	cudaGraphExec_t graph;
	kit::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < 50; i++) {
		LAUNCH(mix, stream);
		LAUNCH(scale, stream);
	}
	kit::check(cudaStreamEndCapture(stream, &made));
	kit::check(cudaGraphInstantiate(&graph, made, 0));
	return kit::measure([&](int, bool) {
		LAUNCH(reduce, stream);
		kit::check(cudaGraphLaunch(graph, stream));
		LAUNCH(scale, stream);
	});
}
