/*
 * Threads whose first CUDA calls come at the same moment.
 *   together THREADS LAUNCHES
 * Prints how many launches there were.
 */
#include <pthread.h>

#include "test/prog/work.h"

static pthread_barrier_t ready;
static int launches;

static void *run(void *unused)
{
	cudaStream_t stream;
	const void *kernel;
	(void)unused;
	pthread_barrier_wait(&ready);
	kernel = work_kernel("spin_5us");
	MUST(cudaStreamCreate(&stream));
	for (int i = 0; i < launches; i++)
		work_launch(kernel, 8, stream);
	MUST(cudaStreamSynchronize(stream));
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4;
	pthread_t threads[64];
	launches = argc > 2 ? atoi(argv[2]) : 1000;
	if (n < 1 || n > 64 || pthread_barrier_init(&ready, NULL, (unsigned)n))
		return 2;
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 2;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%d launches\n", n * launches);
	return 0;
}
