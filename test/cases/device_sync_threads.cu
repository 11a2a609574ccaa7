// Two serving threads with a stream and a model each. One's library ends a request with
// cudaDeviceSynchronize, which waits for both.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
#include <cuda_runtime.h>

__global__ void detect_120us(float *x) { x[threadIdx.x] += 1; }
__global__ void embed_30us(float *x) { x[threadIdx.x] *= 2; }

static bool fixed;
static std::atomic<bool> stop{false};

static void serve_small(std::vector<double> *stamps) {
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    float *x, *h;
    cudaMalloc(&x, 4096);
    cudaMallocHost(&h, 4096);
    for (int request = 0; request < 400; request++) {
        stamps->push_back(std::chrono::duration<double>(
            std::chrono::steady_clock::now().time_since_epoch()).count());
        cudaMemcpyAsync(x, h, 4096, cudaMemcpyHostToDevice, s);
        for (int i = 0; i < 4; i++) embed_30us<<<1, 64, 0, s>>>(x);
        cudaMemcpyAsync(h, x, 4096, cudaMemcpyDeviceToHost, s);
        if (fixed) cudaStreamSynchronize(s);
        else cudaDeviceSynchronize();  // GUILTY
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    stop = true;
}

static void serve_large() {
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    float *x;
    cudaMalloc(&x, 4096);
    while (!stop) {
        for (int i = 0; i < 16; i++) detect_120us<<<1, 64, 0, s>>>(x);
        cudaStreamSynchronize(s);
        std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
}

int main() {
    fixed = getenv("FIXED");
    std::vector<double> stamps;
    std::thread large(serve_large), small(serve_small, &stamps);
    small.join();
    large.join();
    puts("served 400");
    if (const char *path = getenv("CASE_TIMES")) {
        FILE *f = fopen(path, "w");
        for (double t : stamps) fprintf(f, "%.9f\n", t);
        fclose(f);
    }
}
