// step: loop at line 88; iterations 400
// Lid-driven cavity, D2Q9 lattice Boltzmann (BGK), two lattices, pull scheme.
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                                   \
	do {                                                                               \
		cudaError_t err_ = (call);                                                 \
		if (err_ != cudaSuccess) {                                                 \
			fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,                  \
			        cudaGetErrorString(err_));                                 \
			exit(EXIT_FAILURE);                                                \
		}                                                                          \
	} while (0)

constexpr int NX = 256, NY = 256, Q = 9;
__constant__ float w[Q];
__constant__ int ex[Q], ey[Q];

__global__ void init(float *f)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < NX * NY)
		for (int q = 0; q < Q; q++)
			f[q * NX * NY + i] = w[q];
}

__global__ void stream_collide(const float *src, float *dst, float omega)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
	float f[Q], rho = 0, ux = 0, uy = 0;
	for (int q = 0; q < Q; q++) {
		int sx = (x - ex[q] + NX) % NX, sy = (y - ey[q] + NY) % NY;
		f[q] = src[q * NX * NY + sy * NX + sx];
		rho += f[q];
		ux += f[q] * ex[q];
		uy += f[q] * ey[q];
	}
	ux /= rho;
	uy /= rho;
	float u2 = 1.5f * (ux * ux + uy * uy);
	for (int q = 0; q < Q; q++) {
		float eu = 3.0f * (ex[q] * ux + ey[q] * uy);
		float feq = w[q] * rho * (1 + eu + 0.5f * eu * eu - u2);
		dst[q * NX * NY + y * NX + x] = f[q] + omega * (feq - f[q]);
	}
}

__global__ void lid(float *f, float u0)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, top = (NY - 1) * NX + x;
	f[7 * NX * NY + top] -= u0 / 6;
	f[8 * NX * NY + top] += u0 / 6;
}

__global__ void speed(const float *f, float *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float ux = 0, uy = 0;
	for (int q = 0; q < Q; q++) {
		ux += f[q * NX * NY + i] * ex[q];
		uy += f[q * NX * NY + i] * ey[q];
	}
	out[i] = sqrtf(ux * ux + uy * uy);
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 400, every = 50;
	const float hw[Q] = {4 / 9.f,  1 / 9.f,  1 / 9.f,  1 / 9.f, 1 / 9.f,
	                     1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
	const int hx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, hy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
	CUDA_CHECK(cudaMemcpyToSymbol(w, hw, sizeof hw));
	CUDA_CHECK(cudaMemcpyToSymbol(ex, hx, sizeof hx));
	CUDA_CHECK(cudaMemcpyToSymbol(ey, hy, sizeof hy));

	float *f0, *f1, *mag;
	CUDA_CHECK(cudaMalloc(&f0, sizeof(float) * NX * NY * Q));
	CUDA_CHECK(cudaMalloc(&f1, sizeof(float) * NX * NY * Q));
	CUDA_CHECK(cudaMalloc(&mag, sizeof(float) * NX * NY));
	std::vector<float> image(NX * NY);
	init<<<NX * NY / 256, 256>>>(f0);

	dim3 grid(NX / 128, NY);
	for (int t = 0; t < steps; t++) {
		stream_collide<<<grid, 128>>>(f0, f1, 1.7f);
		lid<<<NX / 128, 128>>>(f1, 0.1f);
		std::swap(f0, f1);
		if (t % every == every - 1) {
			speed<<<NX * NY / 256, 256>>>(f0, mag);
			CUDA_CHECK(cudaMemcpy(image.data(), mag, sizeof(float) * NX * NY,
			                      cudaMemcpyDeviceToHost));
			printf("t=%d centre speed %g\n", t + 1, image[NY / 2 * NX + NX / 2]);
		}
	}
	CUDA_CHECK(cudaDeviceSynchronize());
	cudaFree(f0);
	cudaFree(f1);
	cudaFree(mag);
	return 0;
}
