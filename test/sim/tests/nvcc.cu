// A program as nvcc makes it: launch stubs, symbols, templates, managed variables, a lambda for a
// stream callback.
#include "test/sim/tests/check.h"

__constant__ float coefficients[16];
__device__ int counter;

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		c[i] = a[i] + b[i];
}

template <int unroll> __global__ void busy_700us(float *p)
{
	p[threadIdx.x] = unroll;
}

int main()
{
	const int n = 1000;
	float in[n], out[n], *a, *b, *c, read[16], table[16] = { 1, 2, 3 };
	for (int i = 0; i < n; i++)
		in[i] = i;
	NEED(cudaMalloc((void **)&a, sizeof(in)));
	NEED(cudaMalloc((void **)&b, sizeof(in)));
	NEED(cudaMalloc((void **)&c, sizeof(in)));
	NEED(cudaMemcpy(a, in, sizeof(in), cudaMemcpyHostToDevice));
	NEED(cudaMemcpy(b, in, sizeof(in), cudaMemcpyHostToDevice));
	add<<<(n + 255) / 256, 256>>>(a, b, c, n);
	NEED(cudaGetLastError());
	NEED(cudaMemcpy(out, c, sizeof(out), cudaMemcpyDeviceToHost));
	check(out[0] == 0 && out[n - 1] == 0, "nvcc: a kernel's result is zeros", "%f", out[n - 1]);
	NEED(cudaMemcpy(out, a, sizeof(out), cudaMemcpyDeviceToHost));
	check(out[n - 1] == n - 1, "nvcc: its input is there still", "%f", out[n - 1]);
	NEED(cudaMemcpyToSymbol(coefficients, table, sizeof(table)));
	NEED(cudaMemcpyFromSymbol(read, coefficients, sizeof(read)));
	check(read[2] == 3, "nvcc: constant memory", "%f", read[2]);
	size_t bytes;
	NEED(cudaGetSymbolSize(&bytes, counter));
	check(bytes == sizeof(int), "nvcc: a variable's size", "%zu", bytes);
	NEED(cudaDeviceSynchronize());
	double t = now_us();
	busy_700us<4><<<1, 32>>>(c);
	NEED(cudaDeviceSynchronize());
	check(now_us() - t > 690, "nvcc: a mangled name's duration", "%.0f us", now_us() - t);
	cudaFuncAttributes attributes;
	const char *name;
	NEED(cudaFuncGetAttributes(&attributes, busy_700us<4>));
	NEED(cudaFuncGetName(&name, (const void *)busy_700us<4>));
	check(attributes.maxThreadsPerBlock == 1024 && strstr(name, "busy_700us"),
	      "nvcc: a kernel's attributes", "%s", name);
	int blocks;
	NEED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
	check(blocks == 8, "nvcc: occupancy", "%d", blocks);
	add<<<1, 4096>>>(a, b, c, n);
	check(cudaGetLastError() == cudaErrorInvalidConfiguration, "nvcc: a bad launch", "good");
	return check_failed;
}
