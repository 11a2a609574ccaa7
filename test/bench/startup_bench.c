/*
 * What preloading costs a process that never calls CUDA: starts /bin/true with and without it,
 * alternating. Budget: 1 ms.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

enum { ROUNDS = 301 };

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double run(char **environment)
{
	char *arguments[] = { "/bin/true", NULL };
	pid_t pid;
	int status;
	double begin = now_us();
	if (posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environment) ||
	    waitpid(pid, &status, 0) < 0)
		return 0;
	return now_us() - begin;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
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
	qsort(bare, ROUNDS, sizeof(*bare), compare);
	qsort(preloaded, ROUNDS, sizeof(*preloaded), compare);
	qsort(added, ROUNDS, sizeof(*added), compare);
	printf("%-34s %7.0f %7.0f %7.0f %7d %6.2fx\n", "start of /bin/true (us)", bare[ROUNDS / 2],
	       preloaded[ROUNDS / 2], added[ROUNDS / 2], 1000,
	       preloaded[ROUNDS / 2] / bare[ROUNDS / 2]);
	return 0;
}
