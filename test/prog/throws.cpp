// C++ exceptions through 20 frames, thrown after CUDA calls have been recorded with their stacks.
//   throws TIMES
// Prints how many were caught, which library unwinds them, and the processor time of one in ns.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <stdexcept>

__attribute__((noinline)) static int go_down(int depth, void (*at_bottom)())
{
	volatile char room[48];
	room[0] = (char)depth;
	if (depth == 0)
		at_bottom();
	else
		go_down(depth - 1, at_bottom);
	return room[0];
}

static void call_cuda()
{
	void *p = nullptr;
	if (cudaMalloc(&p, 64) || cudaFree(p))
		std::exit(1);
}

static void throw_it()
{
	throw std::runtime_error("thrown");
}

static double now_ns()
{
	timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? std::atoi(argv[1]) : 10, caught = 0;
	for (int depth = 0; depth <= 20; depth++)
		go_down(depth, call_cuda);
	double begin = now_ns();
	for (int i = 0; i < times; i++) {
		try {
			go_down(20, throw_it);
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	double ns = (now_ns() - begin) / times;
	Dl_info info;
	if (!dladdr(dlsym(RTLD_DEFAULT, "_Unwind_RaiseException"), &info))
		return 1;
	const char *slash = std::strrchr(info.dli_fname, '/');
	std::printf("%d %s %.0f\n", caught, slash ? slash + 1 : info.dli_fname, ns);
	return caught == times ? 0 : 1;
}
