// What libc10_cuda.so does: an allocator that reports each block. Loaded RTLD_LOCAL, as Python
// does.
#include <cuda_runtime_api.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace c10 {
struct Device {
	int8_t type, index;
};
void reportMemoryUsageToProfiler(void *, int64_t, SIZE, SIZE, Device);
void reportOutOfMemoryToProfiler(int64_t, SIZE, SIZE, Device);
}

extern "C" void c10_say();

static const SIZE SEGMENT = 8 << 20;
static char *segment;
static SIZE allocated;

static void must(int failed)
{
	if (failed)
		std::exit(1);
}

// A macro: the line that counts is the one where it is used.
#define report(at, bytes, type)                                                              \
	do {                                                                                 \
		errno = 77;                                                                  \
		allocated += (type) == 1 ? (bytes) : 0;                                      \
		c10::reportMemoryUsageToProfiler(segment + (at), bytes, allocated, SEGMENT,  \
						 { type, 0 });                               \
		must(errno != 77);                                                           \
	} while (0)

__attribute__((noinline)) static void kept_each_step(int step)
{
	report((1 << 20) + step * 1024, 1024, 1);
}

__attribute__((noinline)) static void come_and_go(int step)
{
	for (int i = 0; i < 10; i++)
		report(i * 512, 512, 1);
	report(0, 100, 0); /* the host's: none of the GPU's */
	for (int i = 0; i < 10; i++)
		report(i * 512, -512, 1);
	if (step == 7)
		c10::reportOutOfMemoryToProfiler(1l << 40, allocated, SEGMENT, { 1, 0 });
}

// One block of 4 KiB for good; each step ten that come and go, and, if `leaks`, one that stays.
extern "C" __attribute__((visibility("default"))) void c10_use(int steps, int leaks)
{
	char data[4096] = "";
	must(cudaMalloc((void **)&segment, SEGMENT));
	report(7 << 20, 4096, 1);
	for (int step = 0; step < steps; step++) {
		come_and_go(step);
		if (leaks)
			kept_each_step(step);
		must(cudaMemcpyAsync(segment, data, sizeof(data), cudaMemcpyHostToDevice, nullptr));
		must(cudaDeviceSynchronize());
	}
	c10_say();
}
