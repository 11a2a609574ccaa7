/* The list of ranks that are merged. See merge.h. */
#include "export/merge.h"

#include "core/source/process/journals.h"
#include "export/foreign.h"
#include "export/run_journals.h"

#include <errno.h>
#include <sys/stat.h>

static void add_rank(struct merge *m, const char *path, bool is_trace)
{
	vec_push(&m->ranks,
		 (struct merge_rank){ .path = mem_text(path), .is_trace = is_trace, .rank = -1 });
}

static int add_traces(struct merge *m, const char *path)
{
	struct foreign_files files;
	foreign_list(&files, path);
	for (size_t i = 0; i < files.paths.n; i++)
		add_rank(m, files.paths.at[i], true);
	foreign_files_free(&files);
	return 0;
}

static int add_journals(struct merge *m, const char *folder, struct err *e)
{
	struct journals j;
	int error = run_journals(&j, folder, e);
	if (error)
		return error;
	for (size_t i = 0; i < j.paths.n; i++)
		add_rank(m, j.paths.at[i], false);
	journals_free(&j);
	return 0;
}

int merge_add(struct merge *m, const char *path, struct err *e)
{
	struct stat status;
	if (stat(path, &status))
		return err_set(e, -ENOENT, "%.180s: no such file or folder", path);
	if (foreign_is_at(path))
		return add_traces(m, path);
	if (S_ISDIR(status.st_mode))
		return add_journals(m, path, e);
	if (!journals_is_one(path))
		return err_set(e, -EINVAL,
			       "%.160s: neither a run of profrun nor a trace of torch.profiler",
			       path);
	add_rank(m, path, false);
	return 0;
}

void merge_free(struct merge *m)
{
	for (size_t i = 0; i < m->ranks.n; i++) {
		free(m->ranks.at[i].path);
		vec_free(&m->ranks.at[i].arrivals);
	}
	vec_free(&m->ranks);
	vec_free(&m->clocks);
	strtab_free(&m->texts);
}

/* ---- Names ---- */

static int by_rank(const void *a, const void *b)
{
	const struct merge_rank *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < 0 ? 1 : y->rank < 0 ? -1 : x->rank < y->rank ? -1 : 1;
	return strcmp(x->path, y->path);
}

void merge_sort(struct merge *m)
{
	if (m->ranks.n)
		qsort(m->ranks.at, m->ranks.n, sizeof(*m->ranks.at), by_rank);
	for (size_t i = 0; i < m->ranks.n; i++) {
		struct merge_rank *r = &m->ranks.at[i];
		if (r->rank < 0)
			snprintf(r->name, sizeof(r->name), "process %u-%zu", r->pid, i);
		else if (i && r->rank == m->ranks.at[i - 1].rank)
			snprintf(r->name, sizeof(r->name), "rank %lld-%zu", (long long)r->rank, i);
		else
			snprintf(r->name, sizeof(r->name), "rank %lld", (long long)r->rank);
	}
}
