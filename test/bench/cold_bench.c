/*
 * `cold_bench NAME [lock]`: what a hooked launch adds with cold caches. Between two launches the
 * program passes through its own memory and code, as a framework does, so that nothing of the hook
 * is in the nearest caches. Run by cold_bench.sh under the library in each of its states. lock:
 * counting steps. A step has 70 launches, each with its own stack; a launch takes about a
 * microsecond, like a real one.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>

#define COLD_PART 1
#include "test/bench/cold.h"

__typeof__(cudaLaunchKernel) bare_cudaLaunchKernel;
extern int bare_launch_rounds;

enum {
	STEP = 70,
	LEAST_DEPTH = 16, /* of 70 stacks, 18 to 35 frames */
	MOST_DEPTH = 33,
	LAUNCHES = 286 * STEP, /* complete steps: counting keeps its position */
	ROUNDS = 5,
	LAUNCH_ROUNDS = 1500,
};

typedef __typeof__(cudaLaunchKernel) *launch_function;

static char kernels[STEP * COLD_LINE];

#define LEAF(name)                                                                    \
	static __attribute__((noinline)) double name(launch_function launch, int i)   \
	{                                                                             \
		const dim3 grid = { 64, 1, 1 }, block = { 256, 1, 1 };                \
		cold_pass(i);                                                         \
		double begin = bench_now_ns();                                        \
		launch(kernels + (i % STEP) * COLD_LINE, grid, block, NULL, 0, NULL); \
		return bench_now_ns() - begin;                                        \
	}
LEAF(leaf0)
LEAF(leaf1)
LEAF(leaf2)
LEAF(leaf3)

static __attribute__((noinline)) double deep(int depth, launch_function launch, int i)
{
	static double (*const leaves[])(launch_function, int) = { leaf0, leaf1, leaf2, leaf3 };
	double ns = depth ? deep(depth - 1, launch, i) : leaves[i % 4](launch, i);
	__asm__ volatile(""); /* no tail call */
	return ns;
}

static double measure(launch_function launch)
{
	static double ns[LAUNCHES];
	for (int i = 0; i < LAUNCHES; i++)
		ns[i] = deep(LEAST_DEPTH + i % STEP % (MOST_DEPTH - LEAST_DEPTH + 1), launch, i);
	return bench_inner_mean(ns, LAUNCHES);
}

static void pass(void)
{
	measure(cudaLaunchKernel);
}

int main(int argc, char **argv)
{
	double added[ROUNDS];
	if (argc < 2 || !cold_make())
		return 2;
	bare_launch_rounds = LAUNCH_ROUNDS;
	pass();
	struct journal_header *h = argc > 2 ? bench_map_journal(0) : NULL;
	if (argc > 2 && !(h && bench_lock(h, kernels, STEP, COLD_LINE, pass))) {
		fprintf(stderr, "cold_bench: the library did not lock on the anchor\n");
		return 1;
	}
	for (int i = 0; i < ROUNDS; i++) {
		double bare = measure(bare_cudaLaunchKernel);
		added[i] = measure(cudaLaunchKernel) - bare;
	}
	printf("%-34s %7.0f\n", argv[1], bench_median(added, ROUNDS));
	return 0;
}
