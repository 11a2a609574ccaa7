/* Objects whose destructors use CUDA: static ones, those of threads, and functions at exit. */
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static bool allocates()
{
	void *memory = nullptr;
	return cudaMalloc(&memory, 64) == cudaSuccess && cudaMemset(memory, 1, 64) == cudaSuccess &&
	       cudaFree(memory) == cudaSuccess;
}

struct Object {
	std::string name;
	explicit Object(const char *text) : name(text)
	{
		allocates();
	}
	~Object()
	{
		std::printf("%s %s\n", name.c_str(), allocates() ? "good" : "bad");
		std::fflush(stdout);
	}
};

static Object early("static object");
static thread_local Object of_thread("object of a thread");

static void at_exit()
{
	std::printf("at exit %s\n", allocates() ? "good" : "bad");
	std::fflush(stdout);
}

static void one_thread()
{
	if (of_thread.name.empty() || !allocates())
		std::printf("bad\n");
}

static void throws(int depth)
{
	Object local("local object");
	if (!depth)
		throw std::runtime_error("thrown");
	throws(depth - 1);
}

int main(int argc, char **argv)
{
	const std::string how = argc > 1 ? argv[1] : "return";
	static Object late("late static object");
	std::atexit(at_exit);
	std::at_quick_exit(at_exit);
	for (int i = 0; i < 20; i++)
		std::thread(one_thread).join();
	one_thread();
	try {
		throws(10);
	} catch (const std::exception &error) {
		std::printf("%s\n", error.what());
	}
	std::fflush(stdout);
	if (how == "exit")
		std::exit(3);
	if (how == "quick-exit")
		std::quick_exit(4);
	if (how == "thread") {
		std::thread([] { std::exit(5); }).join();
	}
	if (how == "terminate")
		throw std::runtime_error("not caught");
	return 2;
}
