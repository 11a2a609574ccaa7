// A loop that aborts in its sixth iteration.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
__global__ void work_9000us(float *x) { x[threadIdx.x] += 1; }
__global__ void check_50us(float *x) { x[threadIdx.x] -= 1; }
int main() {
    float *x, h = 0;
    cudaMalloc(&x, 4096);
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 3; k++) work_9000us<<<1, 64>>>(x);
        if (i == 5) abort();
        check_50us<<<1, 64>>>(x);
        cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost);
    }
}
