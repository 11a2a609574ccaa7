// Each iteration gives both devices a copy, a kernel and a copy back, then waits for both: 200
// iterations (PROFSIM_DEVICES=2).
#include <cstdio>
#include <cuda_runtime.h>
__global__ void half_200us(float *x) { if (x) x[threadIdx.x] += 1; }
int main() {
    cudaStream_t s[2]; float *d[2], *h[2];
    for (int i = 0; i < 2; i++) {
        cudaSetDevice(i);
        cudaStreamCreate(&s[i]);
        cudaMalloc(&d[i], 1 << 20);
        cudaMallocHost(&h[i], 1 << 20);
    }
    for (int it = 0; it < 200; it++) {
        for (int i = 0; i < 2; i++) {
            cudaSetDevice(i);
            cudaMemcpyAsync(d[i], h[i], 1 << 20, cudaMemcpyHostToDevice, s[i]);
            half_200us<<<8, 128, 0, s[i]>>>(d[i]);
            cudaMemcpyAsync(h[i], d[i], 1 << 20, cudaMemcpyDeviceToHost, s[i]);
        }
        for (int i = 0; i < 2; i++) { cudaSetDevice(i); cudaStreamSynchronize(s[i]); }
    }
    puts("200 iterations");
}
