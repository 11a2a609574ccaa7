/* A captured step calls the host in its middle, and the GPU waits while the host works. */
#include "kit.h"

static void choose(void *)
{
	kit::spin(600);
}

int main()
{
	cudaKernel_t draft = kit::kernel("draft_60us"), accept = kit::kernel("accept_120us");
	return kit::measure_graphs(kit::stream(), [=](cudaStream_t stream, bool fixed) {
		for (int i = 0; i < 3; i++)
			LAUNCH(draft, stream);
		if (!fixed)
			kit::check(cudaLaunchHostFunc(stream, choose, nullptr)); // PLANTED
		LAUNCH(accept, stream);
	});
}
