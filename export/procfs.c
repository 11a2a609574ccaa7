/* Reading /proc/PID/stat; the name in it may hold spaces and brackets. */
#include "export/procfs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Field `number` of the line, counted from 1; those before the third are behind us. */
static uint64_t field(const char *third, int number)
{
	const char *at = third;
	for (int i = 3; at && i < number; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* A first thread that has ended is a zombie while others go on. */
static bool is_over(const char *third)
{
	enum { NUM_THREADS = 20 };
	return third[1] == 'X' || (third[1] == 'Z' && field(third, NUM_THREADS) <= 1);
}

uint64_t procfs_start(uint32_t pid)
{
	enum { STARTTIME = 22 };
	char path[32], text[1024];
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return 0;
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	const char *at = strrchr(text, ')');
	if (!at || at[1] != ' ' || is_over(at + 1))
		return 0;
	return field(at + 1, STARTTIME);
}
