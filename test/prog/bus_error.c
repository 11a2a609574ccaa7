/*
 * The journal is truncated while the program runs: bus_error FOLDER HOW. HOW:
 *   plain     makes 2,000 calls before and after
 *   own       has a handler of its own for SIGBUS, and then makes a fault that belongs to it
 *   default   makes a fault of its own, which must end the program
 */
#include <cuda_runtime_api.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;

static void on_bus_error(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void calls(void)
{
	void *p;
	for (int i = 0; i < 1000; i++)
		if (cudaMalloc(&p, 64) || cudaFree(p))
			exit(3);
}

static void truncate_journal(const char *folder)
{
	char pattern[4096];
	glob_t found;
	snprintf(pattern, sizeof(pattern), "%s/journal/*.journal", folder);
	if (glob(pattern, 0, NULL, &found))
		return;
	if (truncate(found.gl_pathv[0], 4096))
		exit(4);
	globfree(&found);
}

/* A fault of the program: it reads beyond the end of a mapped file. */
static void fault(void)
{
	FILE *file = tmpfile();
	char *at = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fileno(file), 0);
	printf("%d\n", *(volatile char *)at);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 9;
	if (!strcmp(argv[2], "own"))
		signal(SIGBUS, on_bus_error);
	calls();
	truncate_journal(argv[1]);
	calls();
	if (strcmp(argv[2], "plain") && !sigsetjmp(back, 1))
		fault();
	calls();
	printf("done\n");
	return 0;
}
