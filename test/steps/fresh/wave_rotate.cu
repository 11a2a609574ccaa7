// step: loop at line 31; iterations 1200
// Acoustic wave with three buffers that rotate, a source, and receivers read every 20 steps.
#include <cstdio>

__global__ void leap(const float *u0, const float *u1, float *u2)
{
	u2[threadIdx.x] = 2 * u1[threadIdx.x] - u0[threadIdx.x];
}
__global__ void inject(float *u, float a)
{
	u[7] += a;
}
__global__ void damp(float *u)
{
	u[threadIdx.x] *= 0.99f;
}
__global__ void sample(const float *u, float *trace)
{
	trace[threadIdx.x] = u[threadIdx.x * 4];
}

int main()
{
	float *u[3], *trace, host[16];
	for (auto &p : u)
		cudaMalloc(&p, 1024);
	cudaMalloc(&trace, 64);
	for (int shot = 0; shot < 3; shot++) {
		for (auto &p : u)
			cudaMemsetAsync(p, 0, 1024);
		for (int t = 0; t < 400; t++) {
			float *before = u[t % 3], *now = u[(t + 1) % 3], *next = u[(t + 2) % 3];
			leap<<<1, 256>>>(before, now, next);
			if (t < 50)
				inject<<<1, 1>>>(next, t * 0.1f);
			damp<<<1, 256>>>(next);
			if (t % 20 == 19) {
				sample<<<1, 16>>>(next, trace);
				cudaMemcpy(host, trace, 64, cudaMemcpyDeviceToHost);
			}
		}
	}
	printf("%g\n", host[0]);
}
