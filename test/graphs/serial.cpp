/* Two towers that do not depend on one another are captured on one stream; the fixed twin captures
 * the second one on a stream of its own. */
#include "kit.h"

static cudaKernel_t image, text, join;
static cudaStream_t main_stream, side;
static cudaEvent_t begun, done;

static cudaGraphExec_t captured(bool fixed)
{
	cudaGraph_t made;
	cudaGraphExec_t graph;
	kit::check(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeThreadLocal));
	kit::check(cudaEventRecord(begun, main_stream));
	kit::check(cudaStreamWaitEvent(side, begun, 0));
	for (int i = 0; i < 4; i++)
		LAUNCH(image, fixed ? side : main_stream); // PLANTED
	kit::check(cudaEventRecord(done, side));
	for (int i = 0; i < 4; i++)
		LAUNCH(text, main_stream);
	kit::check(cudaStreamWaitEvent(main_stream, done, 0));
	LAUNCH(join, main_stream);
	kit::check(cudaStreamEndCapture(main_stream, &made));
	kit::check(cudaGraphInstantiate(&graph, made, 0));
	return graph;
}

int main()
{
	main_stream = kit::stream(), side = kit::stream();
	begun = kit::event(), done = kit::event();
	image = kit::kernel("image_160us"), text = kit::kernel("text_120us");
	join = kit::kernel("join_30us");
	cudaGraphExec_t slow = captured(false), fast = captured(true);
	kit::pace pace;
	return kit::measure([&](int i, bool fixed) {
		pace.wait(i);
		kit::check(cudaGraphLaunch(fixed ? fast : slow, main_stream));
		pace.mark(i, main_stream);
	});
}
