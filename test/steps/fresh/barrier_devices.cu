// step: loop at line 59; iterations 250
// A thread per device for the whole run, with a barrier in each iteration; after nccl-tests and
// simpleMultiGPU.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>
#define CK(x)                                                                                      \
	do {                                                                                       \
		cudaError_t e_ = (x);                                                              \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#include <condition_variable>
#include <mutex>
#include <thread>
__global__ void stencil(const float *a, float *b)
{
	b[threadIdx.x] = a[threadIdx.x] * 0.5f;
}
__global__ void pack(const float *a, float *h)
{
	h[threadIdx.x] = a[threadIdx.x];
}
class Barrier
{
	std::mutex m;
	std::condition_variable c;
	int n, left, round = 0;

      public:
	explicit Barrier(int n) : n(n), left(n)
	{
	}
	void wait()
	{
		std::unique_lock<std::mutex> g(m);
		int mine = round;
		if (--left == 0) {
			left = n;
			round++;
			c.notify_all();
			return;
		}
		c.wait(g, [&] { return mine != round; });
	}
};
static void work(int d, Barrier &barrier)
{
	float *a, *b, *h;
	cudaStream_t s;
	CK(cudaStreamCreate(&s));
	CK(cudaMalloc(&a, 1024));
	CK(cudaMalloc(&b, 1024));
	CK(cudaMalloc(&h, 1024));
	for (int t = 0; t < 250; t++) {
		stencil<<<4, 64, 0, s>>>(a, b);
		pack<<<1, 64, 0, s>>>(b, h);
		CK(cudaStreamSynchronize(s));
		barrier.wait();
		CK(cudaMemcpyAsync(a, h, 256, cudaMemcpyDeviceToDevice, s));
		if (d == 0 && t % 25 == 0)
			printf("%d\n", t);
		std::swap(a, b);
	}
	CK(cudaStreamSynchronize(s));
}
int main()
{
	Barrier barrier(3);
	std::vector<std::thread> threads;
	for (int d = 0; d < 3; d++)
		threads.emplace_back(work, d, std::ref(barrier));
	for (auto &t : threads)
		t.join();
}
