// step: loop at line 82; iterations 800
// Molecular dynamics: bonded, nonbonded, PME, constraints; pair list every 20, energies every
// 50, thermostat every 10; after GROMACS and OpenMM.
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

__global__ void clear(float *f)
{
	f[threadIdx.x] = 0;
}
__global__ void bonded(const float *x, float *f)
{
	f[threadIdx.x] += x[threadIdx.x];
}
__global__ void nonbonded(const float *x, float *f)
{
	f[threadIdx.x] -= x[threadIdx.x];
}
__global__ void spread(const float *x, float *g)
{
	g[threadIdx.x] = x[threadIdx.x];
}
__global__ void fft(float *g, int axis)
{
	g[threadIdx.x] *= axis;
}
__global__ void solve(float *g)
{
	g[threadIdx.x] *= 2;
}
__global__ void gather(const float *g, float *f)
{
	f[threadIdx.x] += g[threadIdx.x];
}
__global__ void leapfrog(float *x, float *v, const float *f)
{
	v[threadIdx.x] += f[threadIdx.x];
	x[threadIdx.x] += v[threadIdx.x];
}
__global__ void settle(float *x)
{
	x[threadIdx.x] *= 0.999f;
}
__global__ void pairs(const float *x, int *list)
{
	list[threadIdx.x] = x[threadIdx.x] > 0;
}
__global__ void prune(int *list)
{
	list[threadIdx.x] &= 1;
}
__global__ void kinetic(const float *v, float *e)
{
	*e = v[0];
}
__global__ void rescale(float *v, float s)
{
	v[threadIdx.x] *= s;
}
int main()
{
	float *x, *v, *f, *g, *e;
	int *list;
	float energies[4], box[256] = { 0 };
	for (float **p : { &x, &v, &f, &g, &e })
		CK(cudaMalloc(p, 1024));
	CK(cudaMalloc(&list, 1024));
	CK(cudaMemcpy(x, box, 1024, cudaMemcpyHostToDevice));
	cudaStream_t pme, local;
	CK(cudaStreamCreate(&pme));
	CK(cudaStreamCreate(&local));
	for (long step = 0; step <= 799; ++step) {
		bool search = step % 20 == 0;
		if (search) {
			CK(cudaMemcpy(box, x, 1024, cudaMemcpyDeviceToHost));
			CK(cudaMemcpy(x, box, 1024, cudaMemcpyHostToDevice));
			pairs<<<4, 64, 0, local>>>(x, list);
			prune<<<4, 64, 0, local>>>(list);
		} else if (step % 4 == 0) {
			prune<<<4, 64, 0, local>>>(list);
		}
		clear<<<4, 64, 0, local>>>(f);
		spread<<<4, 64, 0, pme>>>(x, g);
		for (int axis = 0; axis < 3; axis++)
			fft<<<4, 64, 0, pme>>>(g, axis);
		solve<<<4, 64, 0, pme>>>(g);
		for (int axis = 2; axis >= 0; axis--)
			fft<<<4, 64, 0, pme>>>(g, axis);
		gather<<<4, 64, 0, pme>>>(g, f);
		nonbonded<<<8, 64, 0, local>>>(x, f);
		bonded<<<2, 64, 0, local>>>(x, f);
		CK(cudaStreamSynchronize(pme));
		leapfrog<<<4, 64, 0, local>>>(x, v, f);
		settle<<<4, 64, 0, local>>>(x);
		if (step % 10 == 0) {
			kinetic<<<1, 64, 0, local>>>(v, e);
			rescale<<<4, 64, 0, local>>>(v, 0.99f);
		}
		if (step % 50 == 0) {
			CK(cudaMemcpyAsync(energies, e, 16, cudaMemcpyDeviceToHost, local));
			CK(cudaStreamSynchronize(local));
		}
	}
}
