// Eight threads take 800 tasks from a queue. Each task makes a stream, launches once and destroys
// the stream.
#include <atomic>
#include <cstdio>
#include <cuda_runtime.h>
#include <thread>
#include <vector>
__global__ void task(float *x) { if (x) x[threadIdx.x] += 1; }
static std::atomic<int> next;
int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([] {
            while (next++ < 800) {
                cudaStream_t s;
                cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
                task<<<1, 32, 0, s>>>(nullptr);
                cudaStreamSynchronize(s);
                cudaStreamDestroy(s);
            }
        });
    for (auto &t : threads) t.join();
    puts("800 launches");
}
