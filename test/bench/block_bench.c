/*
 * `block_bench NAME`: the cost of one of PyTorch's memory reports, half of which are for freed
 * blocks. Measured in a loop, and in a program that uses the caches in between. Run by
 * block_bench.sh under the library in each of its states. Linked with a libc10.so
 * (test/prog/c10.cpp) whose own work is a few additions.
 */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COLD_PART 10
#include "test/bench/cold.h"

enum { ROUNDS = 31, STEPS = 250, COLD_ROUNDS = 7, LIVE = 1000, PER_STEP = 97 };

struct device {
	int8_t type, index;
};

void reported(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved,
	      struct device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_"
					    "6DeviceE");

static void *address(unsigned i)
{
	return (void *)(uintptr_t)(0x7f0000000000 + (uint64_t)i * 2048);
}

static bool is_cold;
/* Mean of a step's reports: sometimes one does the work that others deferred. */
static double cold_ns[STEPS];
static int n_cold;

static void report(unsigned block, int64_t bytes, uint64_t live)
{
	static const struct device gpu = { 1, 0 };
	double begin = 0;
	if (is_cold) {
		cold_pass(n_cold);
		begin = bench_now_ns();
	}
	reported(address(LIVE + block), bytes, live * 2048, 1 << 30, gpu);
	if (is_cold)
		cold_ns[n_cold++ / (2 * PER_STEP)] += (bench_now_ns() - begin) / 2 / PER_STEP;
}

static void step(void)
{
	for (unsigned i = 0; i < PER_STEP; i++)
		report(i, 2048, LIVE + i);
	for (unsigned i = 0; i < PER_STEP; i++)
		report(i, -2048, LIVE);
}

/* Makes frames between main and the reports, as in PyTorch. */
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

static double loop_ns(void)
{
	double begin = bench_now_ns();
	for (int i = 0; i < STEPS; i++)
		go_down(30);
	return (bench_now_ns() - begin) / STEPS / PER_STEP / 2;
}

static double cold_step_ns(void)
{
	n_cold = 0;
	memset(cold_ns, 0, sizeof(cold_ns));
	loop_ns();
	return bench_inner_mean(cold_ns, STEPS);
}

int main(int argc, char **argv)
{
	double rounds[ROUNDS], cold_rounds[COLD_ROUNDS];
	void *p;
	if (!cold_make())
		return 2;
	cudaMalloc(&p, 64); /* the first call arms the library */
	for (unsigned i = 0; i < LIVE; i++)
		reported(address(i), 2048, i * 2048, 1 << 30, (struct device){ 1, 0 });
	loop_ns(); /* past the first blocks, which always take a stack */
	for (int r = 0; r < ROUNDS; r++)
		rounds[r] = loop_ns();
	is_cold = true;
	for (int r = 0; r < COLD_ROUNDS; r++)
		cold_rounds[r] = cold_step_ns();
	printf("%-34s %7.1f %7.1f\n", argc > 1 ? argv[1] : "", bench_median(rounds, ROUNDS),
	       bench_median(cold_rounds, COLD_ROUNDS));
	return 0;
}
