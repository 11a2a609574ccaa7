/* Pinned staging memory is allocated and freed in each step; freeing it waits for the device. */
#include "kit.h"

namespace
{
constexpr size_t size = 256 << 10;

struct staging {
	void *memory = nullptr;
	staging()
	{
		kit::check(cudaHostAlloc(&memory, size, cudaHostAllocDefault)); // PLANTED
	}
	~staging()
	{
		kit::check(cudaFreeHost(memory)); // PLANTED
	}
};

struct model {
	cudaStream_t stream = kit::stream();
	cudaKernel_t encode = kit::kernel("encode_250us"), decode = kit::kernel("decode_300us"),
		     score = kit::kernel("score_50us"), rank = kit::kernel("rank_30us");
	void *device = nullptr;

	void run(void *host)
	{
		kit::check(cudaMemcpyAsync(device, host, size, cudaMemcpyHostToDevice, stream));
		LAUNCH(encode, stream);
		LAUNCH(decode, stream);
		LAUNCH(score, stream);
		LAUNCH(rank, stream);
	}
};
}

int main()
{
	model m;
	kit::check(cudaMalloc(&m.device, size));
	static void *const kept = [] {
		void *memory;
		kit::check(cudaHostAlloc(&memory, size, cudaHostAllocDefault));
		return memory;
	}();
	return kit::measure([&](int, bool fixed) {
		kit::spin(500);
		if (fixed) {
			m.run(kept);
		} else {
			staging s;
			m.run(s.memory);
		}
	});
}
