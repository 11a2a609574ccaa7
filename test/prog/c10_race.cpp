// c10_race.so: a thread makes and frees blocks all the time while this one takes steps, so that
// recording begins and ends in the middle of reports. Loaded by c10_main, like c10_user.cpp's
// object.
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace c10 {
struct Device {
	int8_t type, index;
};
void reportMemoryUsageToProfiler(void *, int64_t, SIZE, SIZE, Device);
}

extern "C" void c10_say();

enum { BLOCKS = 16000, KEPT = 40, BYTES = 512 };

static char *segment;
static std::atomic<bool> over;

static void report(unsigned long block, int bytes, SIZE n_live)
{
	c10::reportMemoryUsageToProfiler(segment + block * BYTES, bytes, n_live * BYTES, 8 << 20,
					 { 1, 0 });
}

// No address is used again for a long time. So a block that was lost, or is wrongly kept as live,
// stays so until its window ends.
static void *make_and_free(void *)
{
	for (unsigned long n = 0; n < KEPT; n++)
		report(n, BYTES, n + 1);
	for (unsigned long n = 0; !over; n++) {
		report(KEPT + n % BLOCKS, BYTES, KEPT + 1);
		report(KEPT + n % BLOCKS, -BYTES, KEPT);
	}
	return nullptr;
}

extern "C" __attribute__((visibility("default"))) void c10_use(int steps, int pause_us)
{
	char data[4096] = "";
	pthread_t thread;
	if (cudaMalloc((void **)&segment, 8 << 20) ||
	    pthread_create(&thread, nullptr, make_and_free, nullptr))
		std::exit(1);
	for (int step = 0; step < steps; step++) {
		if (cudaMemcpyAsync(segment, data, sizeof(data), cudaMemcpyHostToDevice, nullptr) ||
		    cudaDeviceSynchronize())
			std::exit(1);
		usleep((useconds_t)pause_us);
	}
	over = true;
	pthread_join(thread, nullptr);
	c10_say();
}
