/* Layers with a virtual function; one kind waits for an event that it has just recorded. */
#include "kit.h"

#include <memory>

namespace
{
struct layer {
	virtual ~layer() = default;
	virtual void forward(cudaStream_t stream, bool fixed) = 0;
};

struct dense final : layer {
	cudaKernel_t multiply = kit::kernel("multiply_110us"), bias = kit::kernel("bias_10us");
	void forward(cudaStream_t stream, bool) override
	{
		LAUNCH(multiply, stream);
		LAUNCH(bias, stream);
	}
};

struct monitored final : layer {
	cudaKernel_t inspect = kit::kernel("inspect_15us");
	cudaEvent_t seen = kit::event();
	void forward(cudaStream_t stream, bool fixed) override
	{
		LAUNCH(inspect, stream);
		kit::check(cudaEventRecord(seen, stream));
		if (!fixed)
			kit::check(cudaEventSynchronize(seen)); // PLANTED
		kit::spin(130);
	}
};
}

int main()
{
	cudaStream_t stream = kit::stream();
	cudaKernel_t softmax = kit::kernel("softmax_20us"), gather = kit::kernel("gather_20us"),
		     top = kit::kernel("top_10us"), sample = kit::kernel("sample_10us"),
		     shift = kit::kernel("shift_5us");
	std::vector<std::unique_ptr<layer>> layers;
	for (int i = 0; i < 6; i++) {
		layers.push_back(std::make_unique<dense>());
		layers.push_back(std::make_unique<monitored>());
	}
	return kit::measure([&](int, bool fixed) {
		for (auto &l : layers)
			l->forward(stream, fixed);
		for (cudaKernel_t kernel : { softmax, gather, top, sample, shift })
			LAUNCH(kernel, stream);
	});
}
