// Four blocking streams that should overlap; a helper still launches into the legacy stream between
// them, which puts all in one row.
#include <cuda_runtime.h>

__global__ void conv_150us(float *x) { x[threadIdx.x] += 1; }
__global__ void pool_60us(float *x) { x[threadIdx.x] *= 2; }
__global__ void stamp_4us(int *x) { x[0]++; }

struct Lane {
    cudaStream_t s;
    float *x;
};
static int *counter;

static void note(cudaStream_t s) { stamp_4us<<<1, 1, 0, s>>>(counter); }

static void request(Lane *lane) {
    conv_150us<<<2, 128, 0, lane->s>>>(lane->x);
    pool_60us<<<2, 128, 0, lane->s>>>(lane->x);
    conv_150us<<<2, 128, 0, lane->s>>>(lane->x);
    note(0);  // the legacy stream waits for all streams, and they for it
}

int main() {
    Lane lanes[4];
    for (Lane &l : lanes) {
        cudaStreamCreate(&l.s);
        cudaMalloc(&l.x, 4096);
    }
    cudaMalloc(&counter, 4);
    for (int batch = 0; batch < 200; batch++) {
        for (int round = 0; round < 2; round++)
            for (Lane &l : lanes) request(&l);
        for (Lane &l : lanes) cudaStreamSynchronize(l.s);
    }
}
