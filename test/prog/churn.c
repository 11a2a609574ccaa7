/*
 * Short-lived threads: churn THREADS AT_ONCE. Each thread makes three calls. Prints the time per
 * thread in microseconds.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *memory;

static void *task(void *unused)
{
	(void)unused;
	cudaMemsetAsync(memory, 0, 64, NULL);
	cudaMemsetAsync(memory, 1, 64, NULL);
	cudaStreamSynchronize(NULL);
	return NULL;
}

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000, at_once = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t threads[64];
	if (at_once > 64 || cudaMalloc(&memory, 64))
		return 1;
	double begun = now_us();
	for (int i = 0; i < n; i += at_once) {
		for (int k = 0; k < at_once; k++)
			if (pthread_create(&threads[k], NULL, task, NULL))
				return 2;
		for (int k = 0; k < at_once; k++)
			pthread_join(threads[k], NULL);
	}
	printf("%.1f us per thread\n", (now_us() - begun) / n);
	return 0;
}
