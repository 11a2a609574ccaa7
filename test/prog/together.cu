// Threads whose first CUDA calls are launches at the same moment: kernels that nvcc registers need
// no call before.
//   together THREADS LAUNCHES [devices]
// devices: each thread's very first call chooses a device of its own.
// Prints how many launches there were.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

__global__ void nothing() {}

static std::atomic<int> waiting, failed;

static void run(int launches, int device)
{
	cudaStream_t stream;
	for (waiting--; waiting > 0;)
		;
	if (device >= 0)
		failed += cudaSetDevice(device) != cudaSuccess;
	failed += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
	for (int i = 0; i < launches; i++) {
		nothing<<<1, 1, 0, stream>>>();
		failed += cudaPeekAtLastError() != cudaSuccess;
	}
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4, launches = argc > 2 ? atoi(argv[2]) : 1000;
	std::vector<std::thread> threads;
	waiting = n;
	for (int i = 0; i < n; i++)
		threads.emplace_back(run, launches, argc > 3 ? i : -1);
	for (std::thread &t : threads)
		t.join();
	cudaDeviceSynchronize();
	printf("%d launches, %d failed\n", n * launches, failed.load());
	return 0;
}
