// step: loop at line 52; iterations 150
// flags: -Xcompiler -fopenmp
// Wave equation on several GPUs: one OpenMP thread per domain, halo rows exchanged by peer copies.
#include <cuda_runtime.h>
#include <omp.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK_ERROR(err) do { cudaError_t e = (err); if (e != cudaSuccess) { \
	printf("ERROR %s (%d)\n", cudaGetErrorString(e), __LINE__); exit(-1); } } while (0)

const int NX = 512, NY = 128;

__global__ void wave(const float *now, const float *old, float *next, float c)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y + 1;
	if (x < 1 || x >= NX - 1)
		return;
	int i = y * NX + x;
	next[i] = 2 * now[i] - old[i] +
		  c * (now[i - 1] + now[i + 1] + now[i - NX] + now[i + NX] - 4 * now[i]);
}
__global__ void source(float *u, float value) { u[NY / 2 * NX + NX / 2] += value; }

struct Domain {
	int device;
	cudaStream_t stream;
	cudaEvent_t done;
	float *u[3];
};

int main(int argc, char *argv[])
{
	int devices, nt = argc > 1 ? atoi(argv[1]) : 150;
	CHECK_ERROR(cudaGetDeviceCount(&devices));
	const int nd = std::max(devices, 2);
	std::vector<Domain> dom(nd);
	for (int d = 0; d < nd; d++) {
		dom[d].device = d % devices;
		CHECK_ERROR(cudaSetDevice(dom[d].device));
		CHECK_ERROR(cudaStreamCreate(&dom[d].stream));
		CHECK_ERROR(cudaEventCreateWithFlags(&dom[d].done, cudaEventDisableTiming));
		for (auto &u : dom[d].u) {
			CHECK_ERROR(cudaMalloc(&u, NX * (NY + 2) * sizeof(float)));
			CHECK_ERROR(cudaMemset(u, 0, NX * (NY + 2) * sizeof(float)));
		}
	}
	const size_t row = NX * sizeof(float);
	double start = omp_get_wtime();
	for (int it = 0; it < nt; it++) {
#pragma omp parallel for num_threads(nd) schedule(static, 1)
		for (int d = 0; d < nd; d++) {
			Domain &m = dom[d];
			CHECK_ERROR(cudaSetDevice(m.device));
			wave<<<dim3(NX / 128, NY), 128, 0, m.stream>>>(m.u[1], m.u[0], m.u[2],
								       0.2f);
			if (d == 0)
				source<<<1, 1, 0, m.stream>>>(m.u[2], it < 20 ? 1.f : 0.f);
			CHECK_ERROR(cudaEventRecord(m.done, m.stream));
			CHECK_ERROR(cudaEventSynchronize(m.done));
		}
#pragma omp parallel for num_threads(nd) schedule(static, 1)
		for (int d = 0; d < nd; d++) {
			Domain &m = dom[d];
			CHECK_ERROR(cudaSetDevice(m.device));
			if (d > 0)
				CHECK_ERROR(cudaMemcpyPeerAsync(m.u[2], m.device,
								dom[d - 1].u[2] + NX * NY,
								dom[d - 1].device, row, m.stream));
			if (d + 1 < nd)
				CHECK_ERROR(cudaMemcpyPeerAsync(m.u[2] + NX * (NY + 1), m.device,
								dom[d + 1].u[2] + NX,
								dom[d + 1].device, row, m.stream));
			CHECK_ERROR(cudaStreamSynchronize(m.stream));
			std::rotate(m.u, m.u + 1, m.u + 3);
		}
	}
	printf("%d steps on %d domains: %.3f s\n", nt, nd, omp_get_wtime() - start);
	for (auto &m : dom) {
		cudaSetDevice(m.device);
		for (auto u : m.u)
			cudaFree(u);
		cudaEventDestroy(m.done);
		cudaStreamDestroy(m.stream);
	}
	return 0;
}
