// Four threads start together and make the process's first CUDA calls: each makes a stream and
// launches 50 times. 200 launches in all.
#include <cstdio>
#include <thread>
#include <vector>
#include <cuda_runtime.h>
__global__ void piece_20us(float *x) { if (x) x[threadIdx.x] += 1; }
int main() {
    std::vector<std::thread> t;
    for (int i = 0; i < 4; i++)
        t.emplace_back([] {
            cudaStream_t s;
            cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
            for (int k = 0; k < 50; k++) piece_20us<<<1, 32, 0, s>>>(nullptr);
            cudaStreamSynchronize(s);
            cudaStreamDestroy(s);
        });
    for (auto &x : t) x.join();
    puts("200 launches");
}
