// Sixteen tasks start together, and each makes its first CUDA call at once: an allocation, a copy
// and ten launches on the stream of its thread.
#include <cstdio>
#include <cuda_runtime.h>
#include <future>
#include <vector>
__global__ void part_10us(float *x) { x[threadIdx.x] += 1; }
int main() {
    std::vector<std::future<int>> tasks;
    for (int i = 0; i < 16; i++)
        tasks.push_back(std::async(std::launch::async, [] {
            float *x, h[64] = {0};
            cudaMalloc(&x, sizeof h);
            cudaMemcpyAsync(x, h, sizeof h, cudaMemcpyHostToDevice, cudaStreamPerThread);
            for (int k = 0; k < 10; k++) part_10us<<<1, 64, 0, cudaStreamPerThread>>>(x);
            cudaStreamSynchronize(cudaStreamPerThread);
            return 10;
        }));
    int n = 0;
    for (auto &t : tasks) n += t.get();
    printf("%d launches\n", n);
}
