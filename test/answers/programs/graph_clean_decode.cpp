/* Nothing to fix: a step launches a graph of large kernels, with a pinned copy of its result, which
 * the host reads one step later. */
#include "kit.h"

int main()
{
	void *result, *host;
	cudaKernel_t attend = kit::kernel("attend_150us"), mix = kit::kernel("mix_250us");
	kit::check(cudaMalloc(&result, 4096));
	kit::check(cudaMallocHost(&host, 4096));
	return kit::measure_graphs(kit::stream(), [=](cudaStream_t stream, bool) {
		for (int i = 0; i < 4; i++) {
			LAUNCH(attend, stream);
			LAUNCH(mix, stream);
		}
		kit::check(cudaMemcpyAsync(host, result, 4096, cudaMemcpyDeviceToHost, stream));
	});
}
