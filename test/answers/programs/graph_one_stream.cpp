/* Two towers that do not depend on one another are captured on one stream; the fixed twin captures
 * the first one on a stream of its own. */
#include "kit.h"

int main()
{
	cudaStream_t side = kit::stream();
	cudaEvent_t begun = kit::event(), done = kit::event();
	cudaKernel_t image = kit::kernel("image_160us"), text = kit::kernel("text_120us"),
		     join = kit::kernel("join_30us");
	return kit::measure_graphs(kit::stream(), [=](cudaStream_t stream, bool fixed) {
		kit::check(cudaEventRecord(begun, stream));
		kit::check(cudaStreamWaitEvent(side, begun, 0));
		for (int i = 0; i < 4; i++)
			LAUNCH(image, fixed ? side : stream); // PLANTED
		kit::check(cudaEventRecord(done, side));
		for (int i = 0; i < 4; i++)
			LAUNCH(text, stream);
		kit::check(cudaStreamWaitEvent(stream, done, 0));
		LAUNCH(join, stream);
	});
}
