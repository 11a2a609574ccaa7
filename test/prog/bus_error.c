/*
 * The journal is truncated while the program runs: bus_error FOLDER HOW. HOW:
 *   plain     makes 2,000 calls before and after
 *   read      like plain, but the journal is truncated when the collector has it open
 *   own       has a handler of its own for SIGBUS, and then makes a fault that belongs to it
 *   default   makes a fault of its own, which must end the program
 */
#include "core/runtime/record.h"

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
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

/* Waits until the journal's header names a collector, for a minute at most. */
static void await_collector(const char *path)
{
	const off_t at = offsetof(struct journal_header, collector);
	uint32_t collector = 0;
	int fd = open(path, O_RDONLY);
	for (int i = 0; i < 60000 && !collector; i++) {
		usleep(1000);
		if (pread(fd, &collector, sizeof(collector), at) < 0)
			exit(5);
	}
	close(fd);
	if (!collector)
		exit(6);
}

static void truncate_journal(const char *folder, bool is_read)
{
	char pattern[4096];
	glob_t found;
	snprintf(pattern, sizeof(pattern), "%s/journal/*.journal", folder);
	if (glob(pattern, 0, NULL, &found))
		return;
	if (is_read)
		await_collector(found.gl_pathv[0]);
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
	bool is_read = !strcmp(argv[2], "read");
	truncate_journal(argv[1], is_read);
	calls();
	if (!is_read && strcmp(argv[2], "plain") && !sigsetjmp(back, 1))
		fault();
	calls();
	printf("done\n");
	return 0;
}
