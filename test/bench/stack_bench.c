/*
 * What a recorded call costs with its stack, over the bare call in the same process and round. A
 * library for stack_bench.py, which calls it from below some Python frames. The native frames are
 * made here, by recursion through different functions.
 */
#include "test/bench/bench.h"

#include <cuda_runtime_api.h>

#define EXPORT __attribute__((visibility("default")))

__typeof__(cudaLaunchKernel) bare_cudaLaunchKernel;

enum { ROUNDS = 15, SITES = 8, INNER = 4 };

/*
 * Frames between the outermost function here and the launch. `path` chooses the callers among the
 * innermost INNER frames.
 */
struct plan {
	int depth;
	unsigned path;
	__typeof__(cudaLaunchKernel) *launch;
};

static volatile int sink;
static char kernel;

static void descend(const struct plan *p, int left);

#define STAGE(n, bytes)                                                                 \
	static __attribute__((noinline)) void stage_##n(const struct plan *p, int left) \
	{                                                                               \
		volatile char room[bytes];                                              \
		room[0] = (char)left;                                                   \
		descend(p, left - 1);                                                   \
		sink += room[0];                                                        \
	}
STAGE(0, 24)
STAGE(1, 56)
STAGE(2, 120)
STAGE(3, 8)

static __attribute__((noinline)) void descend(const struct plan *p, int left)
{
	static void (*const stages[])(const struct plan *, int) = { stage_0, stage_1, stage_2,
								    stage_3 };
	dim3 one = { 1, 1, 1 };
	if (left <= 0) {
		p->launch(&kernel, one, one, NULL, 0, NULL);
		sink++;
		return;
	}
	/* Two frames per recursion: a stage and this. */
	unsigned which = left <= INNER / 2 ? p->path >> left & 3 : (unsigned)left & 3;
	stages[which](p, left);
	sink++;
}

static double time_calls(struct plan *p, int calls, int sites)
{
	double begin = bench_now_ns();
	for (int i = 0; i < calls; i++) {
		p->path = (unsigned)(i % sites) * 0x9e37u;
		descend(p, p->depth / 2);
	}
	return (bench_now_ns() - begin) / calls;
}

/*
 * Returns the nanoseconds that the hook adds to a call, median of the rounds. `changing`: no call
 * has the same stack as the one before.
 */
EXPORT double stack_bench(int depth, int calls, int changing);
EXPORT double stack_bench(int depth, int calls, int changing)
{
	double added[ROUNDS];
	struct plan p = { .depth = depth };
	int sites = changing ? SITES : 1;
	for (int i = 0; i < ROUNDS; i++) {
		p.launch = bare_cudaLaunchKernel;
		double bare = time_calls(&p, calls, sites);
		p.launch = cudaLaunchKernel;
		added[i] = time_calls(&p, calls, sites) - bare;
	}
	return bench_median(added, ROUNDS);
}
