// step: loop at line 111; iterations 300
// Edge detection on a video: four slots, each with a stream and pinned buffers, used in rotation.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(x) \
	if (cudaError_t e = (x)) { \
		std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorName(e)); \
		std::abort(); \
	}

namespace video {
constexpr int W = 320, H = 240;

__global__ void toGray(const uchar3 *in, uint8_t *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < W * H)
		out[i] = (in[i].x * 77 + in[i].y * 150 + in[i].z * 29) >> 8;
}
__global__ void blur(const uint8_t *in, uint8_t *out)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, sum = 0;
	if (x < 1 || y < 1 || x >= W - 1 || y >= H - 1)
		return;
	for (int dy = -1; dy <= 1; dy++)
		for (int dx = -1; dx <= 1; dx++)
			sum += in[(y + dy) * W + x + dx];
	out[y * W + x] = sum / 9;
}
__global__ void sobel(const uint8_t *in, uint8_t *out)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	if (x < 1 || y < 1 || x >= W - 1 || y >= H - 1)
		return;
	int gx = in[y * W + x + 1] - in[y * W + x - 1],
	    gy = in[(y + 1) * W + x] - in[(y - 1) * W + x];
	out[y * W + x] = min(255, abs(gx) + abs(gy));
}

class Decoder {
	int next = 0, total;

public:
	explicit Decoder(int total) : total(total) {}
	bool read(uchar3 *frame)
	{
		if (next == total)
			return false;
		for (int i = 0; i < W * H; i++)
			frame[i] = make_uchar3(i + next, i >> 3, next);
		next++;
		return true;
	}
};

struct Slot {
	cudaStream_t stream;
	uchar3 *hostIn, *in;
	uint8_t *hostOut, *gray, *smooth, *edges;
	bool busy = false;
	Slot()
	{
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		CHECK(cudaMallocHost(&hostIn, W * H * sizeof(uchar3)));
		CHECK(cudaMallocHost(&hostOut, W * H));
		CHECK(cudaMalloc(&in, W * H * sizeof(uchar3)));
		for (uint8_t **p : {&gray, &smooth, &edges})
			CHECK(cudaMalloc(p, W * H));
	}
	~Slot()
	{
		cudaStreamDestroy(stream);
		cudaFreeHost(hostIn), cudaFreeHost(hostOut), cudaFree(in);
		cudaFree(gray), cudaFree(smooth), cudaFree(edges);
	}
	void submit()
	{
		dim3 block(32, 8), grid(W / 32, H / 8);
		CHECK(cudaMemcpyAsync(in, hostIn, W * H * sizeof(uchar3), cudaMemcpyHostToDevice,
				      stream));
		toGray<<<W * H / 256, 256, 0, stream>>>(in, gray);
		blur<<<grid, block, 0, stream>>>(gray, smooth);
		sobel<<<grid, block, 0, stream>>>(smooth, edges);
		CHECK(cudaMemcpyAsync(hostOut, edges, W * H, cudaMemcpyDeviceToHost, stream));
		busy = true;
	}
	unsigned collect()
	{
		if (!busy)
			return 0;
		CHECK(cudaStreamSynchronize(stream));
		busy = false;
		unsigned sum = 0;
		for (int i = 0; i < W * H; i++)
			sum += hostOut[i];
		return sum;
	}
};
} // namespace video

int main()
{
	std::array<video::Slot, 4> slots;
	video::Decoder decoder(300);
	unsigned long checksum = 0;
	for (size_t n = 0;; n++) {
		auto &slot = slots[n % slots.size()];
		checksum += slot.collect();
		if (!decoder.read(slot.hostIn))
			break;
		slot.submit();
	}
	for (auto &slot : slots)
		checksum += slot.collect();
	std::printf("checksum %lu\n", checksum);
}
