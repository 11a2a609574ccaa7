// step: loop at line 77; iterations 60
// Tone mapping of a series of large images: each is cut into tiles, one std::async per tile.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <vector>

static void check(cudaError_t rc, int line)
{
	if (rc != cudaSuccess) {
		std::cerr << "line " << line << ": " << cudaGetErrorString(rc) << std::endl;
		std::exit(1);
	}
}
#define CHECK(x) check(x, __LINE__)

__global__ void logLuminance(const float *in, float *out, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = logf(in[i] + 1e-4f);
}
__global__ void toneMap(const float *lum, float *px, int n, float key)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		px[i] = px[i] * key / (1 + expf(lum[i]));
}

struct StreamDeleter {
	void operator()(CUstream_st *s) const { cudaStreamDestroy(s); }
};
using Stream = std::unique_ptr<CUstream_st, StreamDeleter>;

Stream makeStream()
{
	cudaStream_t s;
	CHECK(cudaStreamCreate(&s));
	return Stream(s);
}

struct Tile {
	float *px, *lum;
	Stream stream = makeStream();
	size_t n;
	explicit Tile(size_t n) : n(n)
	{
		CHECK(cudaMalloc(&px, n * sizeof(float)));
		CHECK(cudaMalloc(&lum, n * sizeof(float)));
	}
	~Tile() { cudaFree(px), cudaFree(lum); }
	double process(float *image, float key)
	{
		cudaStream_t s = stream.get();
		CHECK(cudaMemcpyAsync(px, image, n * sizeof(float), cudaMemcpyHostToDevice, s));
		logLuminance<<<64, 256, 0, s>>>(px, lum, n);
		toneMap<<<64, 256, 0, s>>>(lum, px, n, key);
		CHECK(cudaMemcpyAsync(image, px, n * sizeof(float), cudaMemcpyDeviceToHost, s));
		CHECK(cudaStreamSynchronize(s));
		double sum = 0;
		for (size_t i = 0; i < n; i++)
			sum += image[i];
		return sum;
	}
};

int main()
{
	const size_t tiles = 4, perTile = 512 * 128;
	std::vector<std::unique_ptr<Tile>> work;
	for (size_t i = 0; i < tiles; i++)
		work.push_back(std::make_unique<Tile>(perTile));
	std::vector<float> image(tiles * perTile);

	double total = 0;
	for (int n = 0; n < 60; n++) {
		for (size_t i = 0; i < image.size(); i++)
			image[i] = 0.001f * ((i * 31 + n) % 1000);
		std::vector<std::future<double>> parts;
		for (size_t i = 0; i < tiles; i++)
			parts.push_back(std::async(std::launch::async, [&, i] {
				return work[i]->process(&image[i * perTile], 0.18f);
			}));
		for (auto &p : parts)
			total += p.get();
	}
	std::cout << "mean " << total / (60 * image.size()) << "\n";
	return 0;
}
