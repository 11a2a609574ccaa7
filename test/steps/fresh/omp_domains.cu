// step: loop at line 56; iterations 120
// A shallow-water code after UoB-HPC's mini-apps (CloverLeaf, TeaLeaf): OpenMP threads own domains,
// with a stream each; they exchange edges, and one thread reduces the time step.
#include <cuda_runtime.h>
#include <omp.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CU(x) do { cudaError_t e_ = (x); if (e_) { \
	fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(2); } } while (0)

__global__ void flux(const float *h, const float *u, float *fx, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		fx[i] = h[i] * u[i];
}
__global__ void advance(float *h, float *u, const float *fx, float dt, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i > 0 && i < n) {
		h[i] -= dt * (fx[i] - fx[i - 1]);
		u[i] -= dt * 9.81f * (h[i] - h[i - 1]);
	}
}
__global__ void speed(const float *h, float *most, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && h[i] > *most)
		*most = h[i];
}

struct Domain {
	float *h, *u, *fx, *most, *edge;
	cudaStream_t stream;
};

int main()
{
	const int domains = 4, n = 16384, steps = 120, visualise = 30;
	std::vector<Domain> all(domains);
	std::vector<float> dts(domains, 0.01f), picture(n);
	for (auto &d : all) {
		CU(cudaStreamCreate(&d.stream));
		for (float **p : {&d.h, &d.u, &d.fx})
			CU(cudaMalloc(p, n * sizeof(float)));
		CU(cudaMalloc(&d.most, sizeof(float)));
		CU(cudaMallocHost(&d.edge, 2 * sizeof(float)));
		CU(cudaMemsetAsync(d.h, 0, n * sizeof(float), d.stream));
	}
	float dt = 0.01f;
	int step = 0;
	omp_set_num_threads(2);
	while (step < steps) {
#pragma omp parallel for schedule(static, 1)
		for (int k = 0; k < domains; k++) {
			Domain &d = all[k];
			int left = (k + domains - 1) % domains;
			CU(cudaMemcpyAsync(d.h, all[left].h + n - 1, sizeof(float),
					   cudaMemcpyDeviceToDevice, d.stream));
			flux<<<n / 256, 256, 0, d.stream>>>(d.h, d.u, d.fx, n);
			advance<<<n / 256, 256, 0, d.stream>>>(d.h, d.u, d.fx, dt, n);
			speed<<<n / 256, 256, 0, d.stream>>>(d.h, d.most, n);
			CU(cudaMemcpyAsync(d.edge, d.most, sizeof(float), cudaMemcpyDeviceToHost,
					   d.stream));
			CU(cudaStreamSynchronize(d.stream));
			dts[k] = 0.01f + 0 * d.edge[0];
		}
		dt = *std::min_element(dts.begin(), dts.end());
		step++;
		if (step % visualise == 0)
			for (auto &d : all)
				CU(cudaMemcpy(picture.data(), d.h, n * sizeof(float),
					      cudaMemcpyDeviceToHost));
	}
	printf("COUNT %d\n", step);
}
