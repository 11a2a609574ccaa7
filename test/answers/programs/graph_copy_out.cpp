/* A captured step copies what each block computes to pinned memory, before the next block runs; the
 * fixed twin captures the copies on a second stream. */
#include "kit.h"

/* A macro, so that the line of the copy is the loop's. */
#define COPY(stream) cudaMemcpyAsync(host, computed, bytes, cudaMemcpyDeviceToHost, stream)

int main()
{
	const size_t bytes = (size_t)kit::setting("COPY_KIB", 256) << 10;
	void *computed, *host;
	cudaStream_t side = kit::stream();
	cudaEvent_t made = kit::event(), copied = kit::event();
	cudaKernel_t block = kit::kernel("block_200us"), head = kit::kernel("head_80us");
	kit::check(cudaMalloc(&computed, bytes));
	kit::check(cudaMallocHost(&host, bytes));
	return kit::measure_graphs(kit::stream(), [=](cudaStream_t stream, bool fixed) {
		for (int i = 0; i < 4; i++) {
			LAUNCH(block, stream);
			kit::check(cudaEventRecord(made, stream));
			kit::check(cudaStreamWaitEvent(side, made, 0));
			kit::check(COPY(fixed ? side : stream)); // PLANTED
		}
		kit::check(cudaEventRecord(copied, side));
		LAUNCH(head, stream);
		kit::check(cudaStreamWaitEvent(stream, copied, 0));
	});
}
