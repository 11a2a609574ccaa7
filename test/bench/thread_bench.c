/*
 * `thread_bench NAME BUDGET LIBRARY`: what the library adds to a thread that makes ten CUDA calls.
 * Runs itself as a child with and without the library, alternating. Each child creates one thread
 * after the other. The time is CPU time, because other load on the machine delays threads.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "test/bench/bench.h"

enum { THREADS = 300, CALLS = 10, ROUNDS = 31 };

static char kernel;

static void *task(void *unused)
{
	const dim3 grid = { 64, 1, 1 }, block = { 256, 1, 1 };
	(void)unused;
	for (int i = 0; i < CALLS - 1; i++)
		cudaLaunchKernel(&kernel, grid, block, NULL, 0, NULL);
	cudaStreamSynchronize(NULL);
	return NULL;
}

static double cpu_us(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Prints the CPU time per thread in us. The first thread sets the library up, and is left out. */
static int child(void)
{
	pthread_t thread;
	double begun = 0;
	for (int i = 0; i <= THREADS; i++) {
		if (i == 1)
			begun = cpu_us();
		if (pthread_create(&thread, NULL, task, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("%.3f\n", (cpu_us() - begun) / THREADS);
	return 0;
}

/* Returns what the child prints. */
static double run(const char *program, const char *library)
{
	char text[64] = "";
	int ends[2];
	if (pipe(ends))
		exit(2);
	pid_t pid = fork();
	if (!pid) {
		if (library)
			setenv("LD_PRELOAD", library, 1);
		dup2(ends[1], 1);
		execl(program, program, "child", (char *)NULL);
		_exit(2);
	}
	close(ends[1]);
	ssize_t n = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return n > 0 ? atof(text) : 0;
}

int main(int argc, char **argv)
{
	static double bare[ROUNDS], hooked[ROUNDS], added[ROUNDS];
	if (argc == 2)
		return child();
	if (argc < 4)
		return 2;
	for (int i = 0; i < ROUNDS; i++) {
		bare[i] = run(argv[0], NULL);
		hooked[i] = run(argv[0], argv[3]);
		added[i] = hooked[i] - bare[i];
	}
	double bare_us = bench_median(bare, ROUNDS), hooked_us = bench_median(hooked, ROUNDS);
	printf("%-34s %7.1f %7.1f %7.1f %7s %6.2fx\n", argv[1], bare_us, hooked_us,
	       bench_median(added, ROUNDS), argv[2], hooked_us / bare_us);
	return 0;
}
