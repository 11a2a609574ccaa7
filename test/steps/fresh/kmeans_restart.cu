// step: loop at line 34; iterations 109; or: loop at line 31; iterations 10
// k-means until it converges, from several starts, as cuML's n_init does.
#include <cstdio>

__global__ void assign(const float *x, const float *c, int *label)
{
	label[threadIdx.x] = (int)(x[threadIdx.x] + c[0]) & 7;
}
__global__ void sums(const float *x, const int *label, float *c)
{
	atomicAdd(&c[label[threadIdx.x]], x[threadIdx.x]);
}
__global__ void divide(float *c)
{
	c[threadIdx.x] /= 2;
}
__global__ void inertia(const float *x, const float *c, float *out)
{
	atomicAdd(out, x[threadIdx.x] - c[0]);
}

int main()
{
	float *x, *c, *d, host;
	int *label, n = 0;
	cudaMalloc(&x, 1024);
	cudaMalloc(&c, 32);
	cudaMalloc(&d, 4);
	cudaMalloc(&label, 1024);
	cudaMemset(x, 0, 1024);
	for (int start = 0; start < 10; start++) {
		cudaMemset(c, start, 32);
		int limit = 8 + start * 5 % 7;
		for (int i = 0; i < limit; i++, n++) {
			assign<<<1, 256>>>(x, c, label);
			sums<<<1, 256>>>(x, label, c);
			divide<<<1, 8>>>(c);
			cudaMemcpy(&host, c, 4, cudaMemcpyDeviceToHost);
		}
		inertia<<<1, 256>>>(x, c, d);
		cudaMemcpy(&host, d, 4, cudaMemcpyDeviceToHost);
	}
	printf("%d %g\n", n, host);
}
