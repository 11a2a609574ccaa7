/*
 * Checks of the simulated GPU's tests: each prints one line, "ok NAME" or "not ok NAME: why". Times
 * are those of the host, so a check that needs an upper bound takes the best of a few tries.
 */
#ifndef TEST_SIM_CHECK_H
#define TEST_SIM_CHECK_H

#include <cuda_runtime_api.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRIES 8

static int check_failed;

__attribute__((format(printf, 3, 4), unused)) static void check(bool good, const char *name,
								const char *why, ...)
{
	if (good) {
		printf("ok %s\n", name);
		return;
	}
	va_list args;
	va_start(args, why);
	printf("not ok %s: ", name);
	vprintf(why, args);
	printf("\n");
	va_end(args);
	check_failed = 1;
}

__attribute__((unused)) static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Stops the program: what comes after such a call would mean nothing. */
#define NEED(call)                                                                                \
	do {                                                                                      \
		int need_rc = (int)(call);                                                        \
		if (need_rc) {                                                                    \
			printf("not ok %s:%d: %s gave %d\n", __FILE__, __LINE__, #call, need_rc); \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)

/* A kernel of any name: the simulated module has every function. */
__attribute__((unused)) static const void *kernel_named(const char *name)
{
	static cudaLibrary_t library;
	cudaKernel_t kernel;
	if (!library)
		NEED(cudaLibraryLoadData(&library, "any image", NULL, NULL, 0, NULL, NULL, 0));
	NEED(cudaLibraryGetKernel(&kernel, library, name));
	return kernel;
}

__attribute__((unused)) static void launch(const void *kernel, cudaStream_t stream)
{
	NEED(cudaLaunchKernel(kernel, (dim3){ 1, 1, 1 }, (dim3){ 32, 1, 1 }, NULL, 0, stream));
}

#endif
