// An ordinary nvcc program. Built three ways: unchanged (CUDA 13's stubs launch through
// __cudaLaunchKernel), with -D__NV_LEGACY_LAUNCH (cudaLaunchKernel), and with --default-stream
// per-thread (the _ptsz and _ptds twins).
#include <cstdio>

__global__ void spin_20us(int *out)
{
	unsigned long long begin, now;
	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
	do {
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	} while (now - begin < 20000);
	if (out && now < begin)
		*out = 1;
}

template <typename T> __global__ void scale_5us(T *data, T by)
{
	data[threadIdx.x] *= by;
}

int main()
{
	int numbers[64], back[64], *p;
	cudaStream_t stream;
	for (int i = 0; i < 64; i++)
		numbers[i] = i;
	cudaMalloc(&p, sizeof(numbers));
	cudaMemcpy(p, numbers, sizeof(numbers), cudaMemcpyHostToDevice);
	cudaMemcpy(back, p, sizeof(numbers), cudaMemcpyDeviceToHost);
	cudaStreamCreate(&stream);
	for (int i = 0; i < 3; i++)
		spin_20us<<<4, 32>>>(p);
	for (int i = 0; i < 2; i++)
		scale_5us<float><<<2, 64, 128, stream>>>((float *)p, 2);
	cudaStreamSynchronize(stream);
	cudaDeviceSynchronize();
	cudaFree(p);
	int sum = 0;
	for (int i = 0; i < 64; i++)
		sum += back[i];
	printf("sum %d, %s\n", sum, cudaGetErrorString(cudaGetLastError()));
	return 0;
}
