/*
 * Shared by the benchmarks: a clock and medians. For benchmarks of hooked calls, also prepares the
 * journal's pages as the collector does.
 */
#ifndef TEST_BENCH_BENCH_H
#define TEST_BENCH_BENCH_H

#include "core/runtime/record.h"
#include "core/runtime/token.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static inline double bench_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static inline double bench_median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), bench_compare);
	return values[n / 2];
}

/* Returns the mean of the middle nine tenths. Sorts the values. */
static inline double bench_inner_mean(double *values, int n)
{
	double sum = 0;
	qsort(values, (size_t)n, sizeof(*values), bench_compare);
	for (int i = n / 20; i < n - n / 20; i++)
		sum += values[i];
	return sum / (n - 2 * (n / 20));
}

/*
 * Does what the collector does ahead of the application (core/source/journal/ahead.c), for all
 * rounds at once: allocating disk space and clearing new pages is not part of the hook's cost.
 */
static inline void bench_make_pages(struct journal_header *h, int fd, uint64_t bytes)
{
	uint64_t sum = 0;
	if (fallocate(fd, 0, (off_t)h->chunks_offset, (off_t)bytes))
		return;
	for (uint64_t at = 0; at < bytes; at += 4096)
		sum += (uint64_t)((const volatile char *)h)[h->chunks_offset + at];
	__asm__ volatile("" : : "r"(sum));
}

/* Returns this process's journal, with pages for `bytes` of records; NULL if there is none. */
static inline struct journal_header *bench_map_journal(uint64_t bytes)
{
	char path[4096];
	struct stat status;
	const char *out = getenv("PROF_OUT");
	snprintf(path, sizeof(path), "%s/journal/%d.journal", out ? out : "", (int)getpid());
	int fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &status))
		return NULL;
	void *map = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED)
		bench_make_pages(map, fd, bytes);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

/* Returns the token of a launch with the grid and block of these benchmarks. */
static inline uint64_t bench_token(const char *kernel)
{
	const uint32_t grid[3] = { 64, 1, 1 }, block[3] = { 256, 1, 1 };
	return token_launch((uint64_t)(uintptr_t)kernel, grid, block);
}

/*
 * Acts as the collector: publishes the anchor of steps of `calls` calls. `pass` runs many steps.
 * Returns false if they are not counted.
 */
static inline bool bench_lock_on(struct journal_header *h, uint64_t anchor, unsigned calls,
				 void (*pass)(void))
{
	atomic_store(&h->steps.anchor, anchor);
	atomic_store(&h->steps.calls_per_step, calls);
	atomic_store(&h->steps.by_optimizer,
		     STEP_OPTIMIZER_SURE); /* otherwise the steps are checked again */
	atomic_store(&h->steps.anchor_generation, 1);
	pass();
	atomic_store(&h->steps.sure_generation,
		     1); /* otherwise it is provisional, and recording continues */
	atomic_store(&h->steps.base, 0);
	atomic_store(&h->steps.base_generation, 1);
	pass();
	return atomic_load(&h->steps.state) == STEP_STATE_CONFIRMED &&
	       atomic_load(&h->steps.current) > 100;
}

/* The same for steps that end with the last of `calls` kernels, which are `size` bytes apart. */
static inline bool bench_lock(struct journal_header *h, const char *kernels, unsigned calls,
			      unsigned size, void (*pass)(void))
{
	const char *end = kernels + calls * size;
	return bench_lock_on(h,
			     token_trigram(bench_token(end - 3 * size), bench_token(end - 2 * size),
					   bench_token(end - size)),
			     calls, pass);
}

#endif
