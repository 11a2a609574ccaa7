/*
 * What preloading costs a process that never calls CUDA: starts /bin/true with and without it,
 * alternating. Budget: 1 ms.
 */
#include "test/bench/bench.h"

#include <spawn.h>
#include <sys/wait.h>

enum { ROUNDS = 301 };

/* Returns the time in us. */
static double run(char **environment)
{
	char *arguments[] = { "/bin/true", NULL };
	pid_t pid;
	int status;
	double begin_ns = bench_now_ns();
	if (posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environment) ||
	    waitpid(pid, &status, 0) < 0)
		return 0;
	return (bench_now_ns() - begin_ns) / 1e3;
}

int main(int argc, char **argv)
{
	static double bare[ROUNDS], preloaded[ROUNDS], added[ROUNDS];
	char setting[4096], *with[] = { setting, NULL }, *without[] = { NULL };
	if (argc < 2)
		return 2;
	snprintf(setting, sizeof(setting), "LD_PRELOAD=%s", argv[1]);
	for (int i = 0; i < ROUNDS; i++) {
		bare[i] = run(without);
		preloaded[i] = run(with);
		added[i] = preloaded[i] - bare[i];
	}
	double bare_us = bench_median(bare, ROUNDS), preloaded_us = bench_median(preloaded, ROUNDS);
	printf("%-34s %7.0f %7.0f %7.0f %7d %6.2fx\n", "start of /bin/true (us)", bare_us,
	       preloaded_us, bench_median(added, ROUNDS), 1000, preloaded_us / bare_us);
	return 0;
}
