// Uses a library that shuts down for 400 ms at exit and then releases its memory, as PyTorch's
// libraries do after Python has shut down.
#include <chrono>
#include <cstdio>
#include <thread>
#include <cuda_runtime.h>

__global__ void reduce_3000us(float *x) { x[0] += x[threadIdx.x]; }

struct library {
    float *x = nullptr;
    library() { cudaMalloc(&x, 4096); }
    ~library() {
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
        cudaFree(x);
    }
};

int main() {
    float h = 0;
    cudaFree(nullptr);
    static library used; // after CUDA's own initialization, so its destructor runs before CUDA ends
    cudaMemset(used.x, 0, 4096);
    reduce_3000us<<<1, 64>>>(used.x);
    cudaMemcpy(&h, used.x, 4, cudaMemcpyDeviceToHost);
    printf("%g\n", h);
}
