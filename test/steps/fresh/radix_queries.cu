// step: loop at line 47; iterations 85; or: loop at line 27; iterations 680
// A database answers queries: each sorts keys in eight passes of a radix sort and aggregates them.
#include <cstdio>
#include <cstdlib>

__global__ void histogram(const int *keys, int *bins, int shift)
{
	atomicAdd(&bins[keys[threadIdx.x] >> shift & 15], 1);
}
__global__ void scan(int *bins)
{
	bins[threadIdx.x] += threadIdx.x;
}
__global__ void scatter(const int *from, int *to, const int *bins, int shift)
{
	to[threadIdx.x] = from[threadIdx.x];
}
__global__ void aggregate(const int *keys, int *out)
{
	atomicAdd(out, keys[threadIdx.x]);
}

static int *keys, *other, *bins, *out;

static void sort(int n)
{
	for (int shift = 0; shift < 32; shift += 4) {
		cudaMemsetAsync(bins, 0, 64);
		histogram<<<n / 64, 64>>>(keys, bins, shift);
		scan<<<1, 16>>>(bins);
		scatter<<<n / 64, 64>>>(keys, other, bins, shift);
		int *t = keys;
		keys = other;
		other = t;
	}
}

int main()
{
	int host[1024], answer;
	cudaMalloc(&keys, 4096);
	cudaMalloc(&other, 4096);
	cudaMalloc(&bins, 64);
	cudaMalloc(&out, 4);
	for (int i = 0; i < 1024; i++)
		host[i] = rand();
	for (int query = 0; query < 85; query++) {
		int n = 64 * (1 + query * 7 % 16);
		cudaMemcpy(keys, host, n * 4, cudaMemcpyHostToDevice);
		sort(n);
		if (query % 3)
			aggregate<<<n / 64, 64>>>(keys, out);
		cudaMemcpy(&answer, query % 3 ? out : keys, 4, cudaMemcpyDeviceToHost);
	}
	printf("%d\n", answer);
}
