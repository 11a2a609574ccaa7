/*
 * What a hooked call costs over the bare one, both in the same process and round: `hook_bench NAME BUDGET_NS [lock]`. Run by
 * hook_bench.sh under the library in each of its states. With `lock` it plays the collector: it opens the journal and
 * publishes an anchor that a launch in a thousand completes, so that counting is measured with its boundaries in it. In every
 * state it makes the journal's pages beforehand, as the collector does.
 */
#include "core/record.h"
#include "core/token.h"

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

__typeof__(cudaLaunchKernel) bare_cudaLaunchKernel;

enum { ROUNDS = 31, CALLS = 100000, STEP = 1000 };

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static char kernels[STEP];

static double time_calls(__typeof__(cudaLaunchKernel) *launch)
{
	dim3 grid = { 64, 1, 1 }, block = { 256, 1, 1 };
	double begin = now_ns();
	for (int i = 0; i < CALLS; i++)
		launch(&kernels[i % STEP], grid, block, NULL, 0, NULL);
	return (now_ns() - begin) / CALLS;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), compare);
	return values[n / 2];
}

/* What the collector does ahead of the application (core/ahead.c), for all rounds at once: making room on disk and clearing new
 * pages is not the hook's. */
static void make_pages(struct journal_header *h, int fd)
{
	uint64_t bytes = (uint64_t)(ROUNDS + 4) * CALLS * sizeof(struct rec_call), sum = 0;
	if (fallocate(fd, 0, (off_t)h->chunks_offset, (off_t)bytes))
		return;
	for (uint64_t at = 0; at < bytes; at += 4096)
		sum += (uint64_t)((const volatile char *)h)[h->chunks_offset + at];
	__asm__ volatile("" : : "r"(sum));
}

static struct journal_header *map_journal(void)
{
	char path[4096];
	struct stat status;
	snprintf(path, sizeof(path), "%s/journal/%d.journal", getenv("PROF_OUT"), (int)getpid());
	int fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &status))
		return NULL;
	void *map = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED)
		make_pages(map, fd);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

static uint64_t token(int kernel)
{
	const uint32_t grid[3] = { 64, 1, 1 }, block[3] = { 256, 1, 1 };
	return token_launch((uint64_t)(uintptr_t)&kernels[kernel], grid, block);
}

static bool lock(struct journal_header *h)
{
	atomic_store(&h->steps.anchor,
		     token_trigram(token(STEP - 3), token(STEP - 2), token(STEP - 1)));
	atomic_store(&h->steps.anchor_generation, 1);
	time_calls(cudaLaunchKernel);
	atomic_store(&h->steps.base, 0);
	atomic_store(&h->steps.base_generation, 1);
	time_calls(cudaLaunchKernel);
	return atomic_load(&h->steps.state) == STEP_STATE_LOCKED &&
	       atomic_load(&h->steps.current) > 100;
}

int main(int argc, char **argv)
{
	double bare[ROUNDS], hooked[ROUNDS], added[ROUNDS];
	if (argc < 3)
		return 2;
	time_calls(cudaLaunchKernel);
	struct journal_header *h = map_journal();
	if (argc > 3 && !(h && lock(h))) {
		fprintf(stderr, "hook_bench: the library did not lock on the anchor\n");
		return 1;
	}
	for (int i = 0; i < ROUNDS; i++) {
		bare[i] = time_calls(bare_cudaLaunchKernel);
		hooked[i] = time_calls(cudaLaunchKernel);
		added[i] = hooked[i] - bare[i];
	}
	double b = median(bare, ROUNDS), m = median(hooked, ROUNDS), a = median(added, ROUNDS);
	printf("%-34s %7.1f %7.1f %7.1f %7s %6.1fx\n", argv[1], b, m, a, argv[2], m / b);
	return 0;
}
