// Threads are alive while the process ends: some use CUDA and the heap, one waits, one sleeps. None
// is joined. Prints what main and the static objects did, which does not depend on time.
//   alive_at_exit [return|exit|quick-exit]
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

enum { CALLERS = 3 };

static std::atomic<int> n_calling;

static bool allocates()
{
	void *memory = nullptr;
	return cudaMalloc(&memory, 64) == cudaSuccess && cudaMemset(memory, 1, 64) == cudaSuccess &&
	       cudaFree(memory) == cudaSuccess;
}

// The heap's own tables are at work when the process ends, and each block changes threads.
static void calls()
{
	std::vector<std::unique_ptr<std::string>> kept(64);
	for (size_t i = 0;; i++) {
		kept[i % kept.size()] = std::make_unique<std::string>(i * 37 % 5000, 'x');
		allocates();
		if (i == 0)
			n_calling++;
	}
}

static void waits()
{
	// Nobody destroys them, as nobody wakes this thread.
	static auto &mutex = *new std::mutex;
	static auto &never = *new std::condition_variable;
	std::unique_lock<std::mutex> lock(mutex);
	for (;;)
		never.wait(lock);
}

struct Object {
	~Object()
	{
		std::printf("static object %s\n", allocates() ? "good" : "bad");
		std::fflush(stdout);
	}
};

static Object object;

int main(int argc, char **argv)
{
	const std::string how = argc > 1 ? argv[1] : "return";
	for (int i = 0; i < CALLERS; i++)
		std::thread(calls).detach();
	std::thread(waits).detach();
	std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
	while (n_calling < CALLERS)
		std::this_thread::yield();
	std::printf("main %s\n", allocates() ? "good" : "bad");
	std::fflush(stdout);
	if (how == "exit")
		std::exit(3);
	if (how == "quick-exit")
		std::quick_exit(4);
	return 2;
}
