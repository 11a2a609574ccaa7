/*
 * See leftover_processes.h. Finds the processes of a run by the environment that they were started
 * with, which /proc shows as long as they run. Their parent does not show which run they belong to,
 * because a process gets another parent when its own parent ends.
 */
#include "export/leftover_processes.h"

#include "core/util/procfs.h"
#include "core/util/vec.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct text {
	VEC(char) bytes; /* the environment's entries, each with its terminating 0 */
};

static void read_environment(uint32_t pid, struct text *t)
{
	char path[48];
	size_t got = 1;
	t->bytes.n = 0;
	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	FILE *f = fopen(path, "re");
	while (f && got) {
		vec_reserve(&t->bytes, 4096);
		got = fread(t->bytes.at + t->bytes.n, 1, 4096, f);
		t->bytes.n += got;
	}
	if (f)
		fclose(f);
	vec_push(&t->bytes, 0);
}

static bool has(const struct text *t, const char *entry)
{
	for (size_t i = 0; i < t->bytes.n; i += strlen(t->bytes.at + i) + 1)
		if (!strcmp(t->bytes.at + i, entry))
			return true;
	return false;
}

size_t leftover_processes(const char *folder)
{
	char entry[PATH_MAX + 16];
	size_t n = 0;
	struct text environment = { 0 };
	snprintf(entry, sizeof(entry), "PROF_OUT=%s", folder);
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && (e = readdir(d));) {
		uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);
		if (!pid || !procfs_start(pid))
			continue;
		read_environment(pid, &environment);
		n += has(&environment, entry) && has(&environment, "PROF_LAUNCHED=1");
	}
	if (d)
		closedir(d);
	vec_free(&environment.bytes);
	return n;
}
