/* A step drafts and verifies by a graph each, and waits after each launch; the fixed twin waits for
 * the last one only. */
#include "kit.h"

int main()
{
	cudaStream_t stream = kit::stream();
	cudaEvent_t done = kit::event();
	cudaKernel_t attend = kit::kernel("attend_60us"), mix = kit::kernel("mix_90us"),
		     verify = kit::kernel("verify_120us");
	cudaGraphExec_t draft = kit::captured(stream, [=](cudaStream_t s) {
		for (int i = 0; i < 2; i++) {
			LAUNCH(attend, s);
			LAUNCH(mix, s);
		}
	});
	cudaGraphExec_t check = kit::captured(stream, [=](cudaStream_t s) {
		for (int i = 0; i < 2; i++)
			LAUNCH(verify, s);
	});
	return kit::measure([=](int, bool fixed) {
		for (int i = 0; i < 4; i++) {
			kit::spin(80);
			kit::check(cudaGraphLaunch(i < 3 ? draft : check, stream));
			if (!fixed)
				kit::check(cudaStreamSynchronize(stream)); // PLANTED
		}
		kit::check(cudaEventRecord(done, stream));
		kit::check(cudaEventSynchronize(done));
	});
}
