/*
 * `nvtx_bench NAME`: what a pair of nvtxRangePushA and nvtxRangePop costs. Run by nvtx_bench.sh
 * under the library in each of its states.
 */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 31, PAIRS = 50000, NAMES = 16 };

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

int main(int argc, char **argv)
{
	char names[NAMES][40];
	double rounds[ROUNDS];
	void *p;
	cudaMalloc(&p, 64); /* the first call arms the library */
	for (int i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "encoder.layer.%d.attention", i);
	for (int r = 0; r < ROUNDS; r++) {
		double begin = now_ns();
		for (int i = 0; i < PAIRS; i++) {
			nvtxRangePushA(names[i % NAMES]);
			nvtxRangePop();
		}
		rounds[r] = (now_ns() - begin) / PAIRS;
	}
	qsort(rounds, ROUNDS, sizeof(*rounds), by_value);
	printf("%-34s %7.1f\n", argc > 1 ? argv[1] : "", rounds[ROUNDS / 2]);
	return 0;
}
