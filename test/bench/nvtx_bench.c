/*
 * `nvtx_bench NAME`: what a pair of nvtxRangePushA and nvtxRangePop costs. Run by nvtx_bench.sh
 * under the library in each of its states.
 */
#include "test/bench/bench.h"

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

enum { ROUNDS = 31, PAIRS = 50000, NAMES = 16 };

int main(int argc, char **argv)
{
	char names[NAMES][40];
	double rounds[ROUNDS];
	void *p;
	cudaMalloc(&p, 64); /* the first call arms the library */
	for (int i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "encoder.layer.%d.attention", i);
	for (int r = 0; r < ROUNDS; r++) {
		double begin = bench_now_ns();
		for (int i = 0; i < PAIRS; i++) {
			nvtxRangePushA(names[i % NAMES]);
			nvtxRangePop();
		}
		rounds[r] = (bench_now_ns() - begin) / PAIRS;
	}
	printf("%-34s %7.1f\n", argc > 1 ? argv[1] : "", bench_median(rounds, ROUNDS));
	return 0;
}
