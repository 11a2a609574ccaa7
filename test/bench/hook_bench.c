/*
 * `hook_bench NAME BUDGET_NS [lock]`: what a hooked call costs over the bare one, both in the same
 * process and round. Run by hook_bench.sh under the library in each of its states. With `lock` it
 * acts as the collector: it opens the journal and publishes an anchor that one launch in a thousand
 * completes, so that counting is measured including step boundaries. In every state it prepares the
 * journal's pages, as the collector does.
 */
#include "test/bench/bench.h"

#include <cuda_runtime_api.h>

__typeof__(cudaLaunchKernel) bare_cudaLaunchKernel;

enum { ROUNDS = 31, CALLS = 100000, STEP = 1000 };

static char kernels[STEP];

static double time_calls(__typeof__(cudaLaunchKernel) *launch)
{
	dim3 grid = { 64, 1, 1 }, block = { 256, 1, 1 };
	double begin = bench_now_ns();
	for (int i = 0; i < CALLS; i++)
		launch(&kernels[i % STEP], grid, block, NULL, 0, NULL);
	return (bench_now_ns() - begin) / CALLS;
}

static void pass(void)
{
	time_calls(cudaLaunchKernel);
}

int main(int argc, char **argv)
{
	double bare[ROUNDS], hooked[ROUNDS], added[ROUNDS];
	if (argc < 3)
		return 2;
	time_calls(cudaLaunchKernel);
	struct journal_header *h =
		bench_map_journal((uint64_t)(ROUNDS + 4) * CALLS * sizeof(struct rec_call));
	if (argc > 3 && !(h && bench_lock(h, kernels, STEP, 1, pass))) {
		fprintf(stderr, "hook_bench: the library did not lock on the anchor\n");
		return 1;
	}
	for (int i = 0; i < ROUNDS; i++) {
		bare[i] = time_calls(bare_cudaLaunchKernel);
		hooked[i] = time_calls(cudaLaunchKernel);
		added[i] = hooked[i] - bare[i];
	}
	double b = bench_median(bare, ROUNDS), m = bench_median(hooked, ROUNDS),
	       a = bench_median(added, ROUNDS);
	printf("%-34s %7.1f %7.1f %7.1f %7s %6.1fx\n", argv[1], b, m, a, argv[2], m / b);
	return 0;
}
