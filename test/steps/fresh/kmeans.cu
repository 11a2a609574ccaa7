// step: loop at line 75; iterations 160
// k-means (Lloyd) with several restarts; assignments on the GPU, new centres on the host.
#include <algorithm>
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_TRY(e) if ((e) != cudaSuccess) { printf("cuda error, line %d\n", __LINE__); exit(1); }

const int POINTS = 1 << 14, FEATURES = 8, K = 10;

__global__ void invert(const float *in, float *out)
{
	int p = blockIdx.x * blockDim.x + threadIdx.x;
	for (int f = 0; f < FEATURES; f++)
		out[f * POINTS + p] = in[p * FEATURES + f];
}
__global__ void assign(const float *x, const float *centres, int *member)
{
	int p = blockIdx.x * blockDim.x + threadIdx.x, best = 0;
	float dmin = FLT_MAX;
	for (int k = 0; k < K; k++) {
		float d = 0;
		for (int f = 0; f < FEATURES; f++) {
			float t = x[f * POINTS + p] - centres[k * FEATURES + f];
			d += t * t;
		}
		if (d < dmin)
			dmin = d, best = k;
	}
	member[p] = best;
}
__global__ void inertiaKernel(const float *x, const float *centres, const int *member, float *sum)
{
	int p = blockIdx.x * blockDim.x + threadIdx.x;
	float d = 0;
	for (int f = 0; f < FEATURES; f++) {
		float t = x[f * POINTS + p] - centres[member[p] * FEATURES + f];
		d += t * t;
	}
	atomicAdd(sum, d);
}

class KMeans {
	const std::vector<float> &data;
	float *raw, *x, *centresDev, *sum;
	int *memberDev;
	std::vector<int> member;

public:
	explicit KMeans(const std::vector<float> &data) : data(data), member(POINTS)
	{
		CUDA_TRY(cudaMalloc(&raw, data.size() * sizeof(float)));
		CUDA_TRY(cudaMalloc(&x, data.size() * sizeof(float)));
		CUDA_TRY(cudaMalloc(&centresDev, K * FEATURES * sizeof(float)));
		CUDA_TRY(cudaMalloc(&sum, sizeof(float)));
		CUDA_TRY(cudaMalloc(&memberDev, POINTS * sizeof(int)));
		CUDA_TRY(cudaMemcpy(raw, data.data(), data.size() * sizeof(float),
				    cudaMemcpyHostToDevice));
		invert<<<POINTS / 256, 256>>>(raw, x);
	}
	float run(unsigned seed, int maxIterations, int threshold)
	{
		std::mt19937 gen(seed);
		std::vector<float> centres(K * FEATURES);
		for (int k = 0; k < K; k++) {
			int p = gen() % POINTS;
			std::copy_n(&data[p * FEATURES], FEATURES, &centres[k * FEATURES]);
		}
		std::vector<int> before(POINTS, -1);
		int iteration = 0, moved;
		do {
			CUDA_TRY(cudaMemcpy(centresDev, centres.data(),
					    centres.size() * sizeof(float),
					    cudaMemcpyHostToDevice));
			assign<<<POINTS / 256, 256>>>(x, centresDev, memberDev);
			CUDA_TRY(cudaMemcpy(member.data(), memberDev, POINTS * sizeof(int),
					    cudaMemcpyDeviceToHost));
			moved = 0;
			std::vector<float> next(K * FEATURES, 0.f);
			std::vector<int> count(K, 0);
			for (int p = 0; p < POINTS; p++) {
				moved += member[p] != before[p];
				count[member[p]]++;
				for (int f = 0; f < FEATURES; f++)
					next[member[p] * FEATURES + f] += data[p * FEATURES + f];
			}
			for (int i = 0; i < K * FEATURES; i++)
				if (count[i / FEATURES])
					centres[i] = next[i] / count[i / FEATURES];
			before = member;
		} while (++iteration < maxIterations && moved > threshold);
		float inertia;
		CUDA_TRY(cudaMemset(sum, 0, sizeof(float)));
		inertiaKernel<<<POINTS / 256, 256>>>(x, centresDev, memberDev, sum);
		CUDA_TRY(cudaMemcpy(&inertia, sum, sizeof(float), cudaMemcpyDeviceToHost));
		return inertia;
	}
	~KMeans()
	{
		cudaFree(raw), cudaFree(x), cudaFree(centresDev), cudaFree(sum),
			cudaFree(memberDev);
	}
};

int main()
{
	std::mt19937 gen(1);
	std::uniform_real_distribution<float> u;
	std::vector<float> data(POINTS * FEATURES);
	for (auto &v : data)
		v = u(gen);
	KMeans km(data);
	float best = FLT_MAX;
	for (unsigned restart = 0; restart < 4; restart++)
		best = std::min(best, km.run(restart, 40, -1));
	printf("best inertia %g\n", best);
}
