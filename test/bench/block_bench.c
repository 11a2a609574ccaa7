/*
 * What a pair of PyTorch's memory reports costs, one for a block made and one for it freed: `block_bench NAME`. Run by block_bench.sh under
 * the library in each of its states. Linked with a libc10.so (test/prog/c10.cpp) whose own part is a few additions.
 */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 31, STEPS = 250, LIVE = 1000, PER_STEP = 97 };

struct device {
	int8_t type, index;
};

void reported(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved,
	      struct device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_"
					    "6DeviceE");

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static void *address(unsigned i)
{
	return (void *)(uintptr_t)(0x7f0000000000 + (uint64_t)i * 2048);
}

static void step(void)
{
	static const struct device gpu = { 1, 0 };
	for (unsigned i = 0; i < PER_STEP; i++)
		reported(address(LIVE + i), 2048, (LIVE + i) * 2048, 1 << 30, gpu);
	for (unsigned i = 0; i < PER_STEP; i++)
		reported(address(LIVE + i), -2048, LIVE * 2048, 1 << 30, gpu);
}

/* Frames between main and the reports, as PyTorch has them. */
__attribute__((noinline)) static int go_down(int depth)
{
	volatile char room[64];
	room[0] = (char)depth;
	if (depth)
		go_down(depth - 1);
	else
		step();
	return room[0];
}

int main(int argc, char **argv)
{
	double rounds[ROUNDS];
	void *p;
	cudaMalloc(&p, 64); /* the first call arms the library */
	for (unsigned i = 0; i < LIVE; i++)
		reported(address(i), 2048, i * 2048, 1 << 30, (struct device){ 1, 0 });
	for (int i = 0; i < STEPS; i++) /* beyond the blocks that take a stack at any time */
		go_down(30);
	for (int r = 0; r < ROUNDS; r++) {
		double begin = now_ns();
		for (int i = 0; i < STEPS; i++)
			go_down(30);
		rounds[r] = (now_ns() - begin) / STEPS / PER_STEP / 2;
	}
	qsort(rounds, ROUNDS, sizeof(*rounds), by_value);
	printf("%-34s %7.1f\n", argc > 1 ? argv[1] : "", rounds[ROUNDS / 2]);
	return 0;
}
