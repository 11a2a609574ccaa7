// Eight threads choose another device for each task, and launch twice on a stream of the task.
// 800 tasks, 1,600 launches.
#include <cstdio>
#include <cuda_runtime.h>
#include <thread>
#include <vector>
__global__ void first(float *x) { if (x) x[threadIdx.x] += 1; }
__global__ void second(float *x) { if (x) x[threadIdx.x] += 2; }
int main() {
    int devices = 0;
    cudaGetDeviceCount(&devices);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([=] {
            for (int k = 0; k < 100; k++) {
                cudaStream_t s;
                cudaSetDevice((i + k) % devices);
                cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
                first<<<1, 32, 0, s>>>(nullptr);
                second<<<1, 64, 0, s>>>(nullptr);
                cudaStreamSynchronize(s);
                cudaStreamDestroy(s);
            }
        });
    for (auto &t : threads) t.join();
    puts("1600 launches");
}
