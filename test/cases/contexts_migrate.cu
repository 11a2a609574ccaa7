// Six threads share four contexts on one device. For each task a thread takes a free context,
// pushes it, launches twice on the context's default stream and pops it. 600 tasks, 1,200 launches.
#include <condition_variable>
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>
__global__ void first(float *x) { if (x) x[threadIdx.x] += 1; }
__global__ void second(float *x) { if (x) x[threadIdx.x] += 2; }
static std::mutex lock;
static std::condition_variable given_back;
static std::deque<CUcontext> free_ones;
int main() {
    CUdevice device;
    cuInit(0);
    cuDeviceGet(&device, 0);
    for (int i = 0; i < 4; i++) {
        CUcontext c;
        cuCtxCreate(&c, NULL, 0, device);
        cuCtxPopCurrent(NULL);
        free_ones.push_back(c);
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; i++)
        threads.emplace_back([] {
            for (int k = 0; k < 100; k++) {
                std::unique_lock<std::mutex> hold(lock);
                given_back.wait(hold, [] { return !free_ones.empty(); });
                CUcontext c = free_ones.front();
                free_ones.pop_front();
                hold.unlock();
                cuCtxPushCurrent(c);
                first<<<1, 32>>>(nullptr);
                second<<<1 + k % 3, 32>>>(nullptr);
                if (k % 4 == 0) cudaDeviceSynchronize();
                cuCtxPopCurrent(NULL);
                hold.lock();
                free_ones.push_back(c);
                given_back.notify_one();
            }
        });
    for (auto &t : threads) t.join();
    for (CUcontext c : free_ones) {
        cuCtxPushCurrent(c);
        cuCtxSynchronize();
        cuCtxPopCurrent(NULL);
    }
    puts("1200 launches");
}
