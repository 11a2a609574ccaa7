/* Lists and checks the files in journal/, a subfolder of the run's folder. */
#include "core/source/process/journals_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <unistd.h>

struct found {
	char *path;
	uint64_t began_ns;
};

/* O_NONBLOCK: the open must not block on a FIFO without a writer. */
static FILE *open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");
	if (fd >= 0 && !f)
		close(fd);
	return f;
}

bool journals_header(const char *path, struct journal_header *h)
{
	FILE *f = open_file(path);
	if (!f)
		return false;
	size_t n = fread(h, 1, sizeof(*h), f);
	fclose(f);
	return n == sizeof(*h);
}

/*
 * Returns when the process began to use CUDA, in ns of CLOCK_MONOTONIC. Returns 0 for an unreadable
 * file: the error is reported later, when the journal is opened.
 */
static uint64_t began(const char *path)
{
	struct journal_header h;
	return journals_header(path, &h) ? h.clock.first.monotonic_ns : 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	if (x->began_ns != y->began_ns)
		return x->began_ns < y->began_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

static bool is_journal_name(const char *name)
{
	size_t n = strlen(name), suffix = strlen(".journal");
	return n > suffix && !strcmp(name + n - suffix, ".journal");
}

/*
 * Explains why there is no journal. The launcher creates run.json at its start; the library creates
 * journal/ at the first CUDA call. So run.json without journal/ means that no process has called
 * CUDA.
 */
static int refuse(const char *folder, int error, struct err *e)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/run.json", folder);
	if (error == ENOENT && !access(path, F_OK))
		return err_set(e, -error,
			       "%.150s: no process of this run has called CUDA, so there is no "
			       "journal/",
			       folder);
	return err_set(e, -error, "%.180s: not the folder of a run: it has no journal/ (%s)",
		       folder, strerror(error));
}

int journals_list(struct journals *j, const char *folder, struct err *e)
{
	char path[PATH_MAX];
	VEC(struct found) found = { 0 };
	snprintf(path, sizeof(path), "%s/journal", folder);
	memset(j, 0, sizeof(*j));
	DIR *d = opendir(path);
	if (!d)
		return refuse(folder, errno, e);
	for (struct dirent *entry; (entry = readdir(d));) {
		char file[PATH_MAX + 300];
		if (!is_journal_name(entry->d_name))
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		vec_push(&found, (struct found){ mem_text(file), began(file) });
	}
	closedir(d);
	if (!found.n)
		return err_set(e, -ENODATA, "%.180s: its journal/ contains no journals", folder);
	qsort(found.at, found.n, sizeof(*found.at), by_begin);
	for (size_t i = 0; i < found.n; i++)
		vec_push(&j->paths, found.at[i].path);
	vec_free(&found);
	return 0;
}

bool journals_is_one(const char *path)
{
	char magic[8] = "";
	FILE *f = open_file(path);
	if (!f)
		return false;
	size_t n = fread(magic, 1, sizeof(magic), f);
	fclose(f);
	return n == sizeof(magic) && !memcmp(magic, JOURNAL_MAGIC, sizeof(magic));
}

void journals_free(struct journals *j)
{
	for (size_t i = 0; i < j->paths.n; i++)
		free(j->paths.at[i]);
	vec_free(&j->paths);
}

uint32_t journals_collector(const char *path)
{
	struct journal_header h;
	return journals_header(path, &h) ? atomic_load(&h.collector) : 0;
}

static int by_number(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

journals_ranks journals_ranks_left_out(const char *folder)
{
	char path[PATH_MAX];
	journals_ranks ranks = { 0 };
	snprintf(path, sizeof(path), "%s/journal", folder);
	DIR *d = opendir(path);
	for (struct dirent *entry; d && (entry = readdir(d));) {
		long rank;
		int end = 0;
		if (sscanf(entry->d_name, "rank-%9ld.left-out%n", &rank, &end) == 1 && end &&
		    !entry->d_name[end])
			vec_push(&ranks, rank);
	}
	if (d)
		closedir(d);
	if (ranks.n)
		qsort(ranks.at, ranks.n, sizeof(*ranks.at), by_number);
	return ranks;
}

uint64_t journals_began(const char *folder)
{
	struct journals j;
	struct journal_header h;
	struct err e;
	uint64_t latest_ns = 0;
	if (journals_list(&j, folder, &e))
		return 0;
	for (size_t i = 0; i < j.paths.n; i++)
		if (journals_is_one(j.paths.at[i]) && journals_header(j.paths.at[i], &h) &&
		    h.clock.first.realtime_ns > latest_ns)
			latest_ns = h.clock.first.realtime_ns;
	journals_free(&j);
	return latest_ns;
}
