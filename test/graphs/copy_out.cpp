/* A captured step copies its hidden state to the host for a debug log that nobody reads. */
#include "kit.h"

constexpr size_t BYTES = 1 << 20;

static cudaKernel_t embed, block, head;
static void *hidden, *host;

static void dump(cudaStream_t s)
{
	kit::check(cudaMemcpyAsync(host, hidden, BYTES, cudaMemcpyDeviceToHost, s)); // PLANTED
}

static cudaGraphExec_t captured(cudaStream_t stream, bool fixed)
{
	cudaGraph_t made;
	cudaGraphExec_t graph;
	kit::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	LAUNCH(embed, stream);
	for (int i = 0; i < 4; i++) {
		LAUNCH(block, stream);
		if (!fixed)
			dump(stream);
	}
	LAUNCH(head, stream);
	kit::check(cudaStreamEndCapture(stream, &made));
	kit::check(cudaGraphInstantiate(&graph, made, 0));
	return graph;
}

int main()
{
	cudaStream_t stream = kit::stream();
	embed = kit::kernel("embed_40us"), block = kit::kernel("block_120us"),
	head = kit::kernel("head_80us");
	kit::check(cudaMalloc(&hidden, BYTES));
	kit::check(cudaMallocHost(&host, BYTES));
	cudaGraphExec_t slow = captured(stream, false), fast = captured(stream, true);
	kit::pace pace;
	return kit::measure([&](int i, bool fixed) {
		pace.wait(i);
		kit::check(cudaGraphLaunch(fixed ? fast : slow, stream));
		pace.mark(i, stream);
	});
}
