// step: loop at line 50; iterations 300; or: loop at line 51; iterations 1200
// Four replicas with a stream each, in turn; exchange every tenth sweep; after parallel
// tempering codes.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>
#define CK(x)                                                                                      \
	do {                                                                                       \
		cudaError_t e_ = (x);                                                              \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__global__ void sweep_even(float *s, float beta)
{
	s[threadIdx.x] *= beta;
}
__global__ void sweep_odd(float *s, float beta)
{
	s[threadIdx.x] += beta;
}
__global__ void energy(const float *s, float *e)
{
	*e = s[0];
}
__global__ void swap_spins(float *a, float *b)
{
	float t = a[threadIdx.x];
	a[threadIdx.x] = b[threadIdx.x];
	b[threadIdx.x] = t;
}
struct Replica {
	float *spins, *e;
	cudaStream_t stream;
	float beta;
};
int main()
{
	std::vector<Replica> replicas(4);
	float b = 0.1f;
	for (auto &r : replicas) {
		CK(cudaMalloc(&r.spins, 1024));
		CK(cudaMalloc(&r.e, 4));
		CK(cudaStreamCreate(&r.stream));
		r.beta = b += 0.1f;
	}
	for (int sweep = 0; sweep < 300; sweep++) {
		for (auto &r : replicas) {
			sweep_even<<<4, 64, 0, r.stream>>>(r.spins, r.beta);
			sweep_odd<<<4, 64, 0, r.stream>>>(r.spins, r.beta);
			energy<<<1, 1, 0, r.stream>>>(r.spins, r.e);
		}
		for (auto &r : replicas)
			CK(cudaStreamSynchronize(r.stream));
		if (sweep % 10 == 9)
			for (size_t i = 0; i + 1 < replicas.size(); i += 2) {
				float e[2];
				CK(cudaMemcpy(&e[0], replicas[i].e, 4, cudaMemcpyDeviceToHost));
				CK(cudaMemcpy(&e[1], replicas[i + 1].e, 4, cudaMemcpyDeviceToHost));
				if ((sweep / 10 + i) % 3 == 0)
					swap_spins<<<4, 64>>>(replicas[i].spins,
							      replicas[i + 1].spins);
			}
	}
}
