// step: loop at line 39; iterations 300
// Jobs are submitted under a lock that a thread for messages holds now and then.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <cuda_runtime.h>
__global__ void job(float *x) { x[threadIdx.x] += 1; }
struct Queue {
	std::mutex m;
	long done = 0;
	void submit(float *x, cudaStream_t s)
	{
		std::lock_guard<std::mutex> hold(m);
		job<<<1, 256, 0, s>>>(x);
		job<<<1, 256, 0, s>>>(x);
		done++;
	}
	void report()
	{
		std::lock_guard<std::mutex> hold(m);
		std::this_thread::sleep_for(std::chrono::milliseconds(3)); // slow terminal
	}
};
int main()
{
	Queue q;
	std::atomic<bool> stop{false};
	std::thread logger([&] {
		while (!stop) {
			q.report();
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		}
	});
	float *x; cudaStream_t s;
	cudaMalloc(&x, 4096);
	cudaStreamCreate(&s);
	for (int i = 0; i < 300; i++) {
		q.submit(x, s);
		cudaStreamSynchronize(s);
	}
	stop = true;
	logger.join();
	puts("logged");
}
