/*
 * What a hooked launch adds where it hurts: between two of them the program passes through memory and code of its own, as a
 * framework does, so that nothing of the hook is in the nearest caches. `cold_bench NAME`: run by cold_bench.sh under the library in each of
 * its states. A step has 70 launches, each with a stack of its own, and one takes about a microsecond, as real ones do.
 */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

__typeof__(cudaLaunchKernel) bare_cudaLaunchKernel;
extern int bare_launch_rounds;

enum {
	LINE = 64,
	DATA_BYTES = 8 << 20,
	LINES_BETWEEN = 3000, /* 190 KB between two launches, 13 MB a step */
	CODE_BYTES = 1 << 20,
	JUMPS_BETWEEN = 1500, /* 94 KB of code: three times an L1 */
	STEP = 70,
	LEAST_DEPTH = 16, /* of 70 stacks, 18 to 35 frames */
	MOST_DEPTH = 33,
	LAUNCHES = 20000,
	ROUNDS = 5,
	LAUNCH_ROUNDS = 1500,
};

typedef __typeof__(cudaLaunchKernel) *launch_function;

static char *data;
static uint8_t *code;
static uint32_t starts[CODE_BYTES / LINE / JUMPS_BETWEEN + 1], n_starts;
static char kernels[STEP * LINE];
static uint32_t place = 1;

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Chains of jumps from line to line in no order; each ends with a return. */
static void make_code(void)
{
	static uint32_t lines[CODE_BYTES / LINE];
	uint32_t n = CODE_BYTES / LINE;
	for (uint32_t i = 0; i < n; i++)
		lines[i] = i;
	for (uint32_t i = n - 1; i; i--) {
		uint32_t j = (uint32_t)rand() % (i + 1), line = lines[i];
		lines[i] = lines[j];
		lines[j] = line;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *at = code + (size_t)lines[i] * LINE;
		if (i % JUMPS_BETWEEN == 0)
			starts[n_starts++] = lines[i];
		*at = 0xc3; /* ret */
		if ((i + 1) % JUMPS_BETWEEN && i + 1 < n) {
			int32_t distance = (int32_t)(lines[i + 1] - lines[i]) * LINE - 5;
			*at = 0xe9; /* jmp */
			memcpy(at + 1, &distance, sizeof(distance));
		}
	}
}

static void pass_through_the_framework(int i)
{
	void (*chain)(void);
	void *start = code + (size_t)starts[(uint32_t)i % n_starts] * LINE;
	for (int k = 0; k < LINES_BETWEEN; k++) {
		place = place * 1664525u + 1013904223u;
		*(volatile char *)(data + (place >> 9) % DATA_BYTES);
	}
	memcpy(&chain, &start, sizeof(chain));
	chain();
}

#define LEAF(name)                                                                  \
	static __attribute__((noinline)) double name(launch_function launch, int i) \
	{                                                                           \
		const dim3 grid = { 64, 1, 1 }, block = { 256, 1, 1 };              \
		pass_through_the_framework(i);                                      \
		double begin = now_ns();                                            \
		launch(kernels + (i % STEP) * LINE, grid, block, NULL, 0, NULL);    \
		return now_ns() - begin;                                            \
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

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The mean of the inner nine tenths. */
static double measure(launch_function launch)
{
	static double ns[LAUNCHES];
	double sum = 0;
	for (int i = 0; i < LAUNCHES; i++)
		ns[i] = deep(LEAST_DEPTH + i % STEP % (MOST_DEPTH - LEAST_DEPTH + 1), launch, i);
	qsort(ns, LAUNCHES, sizeof(*ns), compare);
	for (int i = LAUNCHES / 20; i < LAUNCHES - LAUNCHES / 20; i++)
		sum += ns[i];
	return sum / (LAUNCHES - 2 * (LAUNCHES / 20));
}

int main(int argc, char **argv)
{
	double added[ROUNDS];
	data = malloc(DATA_BYTES);
	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc < 2 || !data || code == MAP_FAILED)
		return 2;
	memset(data, 1, DATA_BYTES);
	make_code();
	bare_launch_rounds = LAUNCH_ROUNDS;
	measure(cudaLaunchKernel);
	for (int i = 0; i < ROUNDS; i++) {
		double bare = measure(bare_cudaLaunchKernel);
		added[i] = measure(cudaLaunchKernel) - bare;
	}
	qsort(added, ROUNDS, sizeof(*added), compare);
	printf("%-34s %7.0f\n", argv[1], added[ROUNDS / 2]);
	return 0;
}
