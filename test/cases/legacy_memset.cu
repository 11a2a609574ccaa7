// Two blocking streams that should overlap; between them a buffer is cleared in the legacy stream,
// because cudaMemset takes no stream.
#include <cuda_runtime.h>

__global__ void left_400us(float *x) { x[threadIdx.x] += 1; }
__global__ void right_400us(float *x) { x[threadIdx.x] *= 2; }

static void clear(float *x) { cudaMemset(x, 0, 4096); }

int main() {
    cudaStream_t a, b;
    float *x, *y, *z;
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaMalloc(&x, 4096);
    cudaMalloc(&y, 4096);
    cudaMalloc(&z, 4096);
    for (int step = 0; step < 120; step++) {
        left_400us<<<2, 128, 0, a>>>(x);
        clear(z);
        right_400us<<<2, 128, 0, b>>>(y);
        cudaStreamSynchronize(a);
        cudaStreamSynchronize(b);
    }
}
