/* See jobs.h. */
#include "export/jobs.h"

#include "core/util/procfs.h"
#include "export/command.h"
#include "export/run_journals.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void close_job(struct job *j)
{
	target_close(j->target);
	free(j->folder);
	free(j->journal);
}

static bool has(const struct jobs *jobs, const char *journal)
{
	for (size_t i = 0; i < jobs->all.n; i++)
		if (!strcmp(jobs->all.at[i].journal, journal))
			return true;
	return false;
}

static int complain(struct jobs *jobs, const char *text)
{
	jobs->status = jobs->is_silent ? EXIT_DATA : data_error("%s", text);
	return EXIT_DATA;
}

/* Adds the journal's process if it is running. `pid`: only if it is that process; 0: any process.
 */
static void add_journal(struct jobs *jobs, const char *folder, const char *path, uint32_t pid)
{
	struct target *target;
	struct err e;
	if (has(jobs, path))
		return;
	if (target_open(&target, path, &e)) {
		complain(jobs, e.text);
		return;
	}
	bool is_wanted = !pid || target_pid(target) == pid;
	if (is_wanted && target_is_alive(target)) {
		target_read_facts(target);
		vec_push(&jobs->all, (struct job){ target, mem_text(folder), mem_text(path) });
		return;
	}
	jobs->n_over += is_wanted;
	target_close(target);
}

static int add_journals(struct jobs *jobs, const char *folder, uint32_t pid)
{
	struct journals j;
	struct err e;
	if (run_journals(&j, folder, &e))
		return complain(jobs, e.text);
	for (size_t i = 0; i < j.paths.n; i++)
		add_journal(jobs, folder, j.paths.at[i], pid);
	journals_free(&j);
	return EXIT_DONE;
}

int jobs_add_folder(struct jobs *jobs, const char *folder)
{
	return add_journals(jobs, folder, 0);
}

static void add_pids(struct jobs *jobs, const struct procfs_family *family)
{
	char folder[PATH_MAX];
	for (size_t i = 0; i < family->pids.n; i++)
		if (procfs_journal_folder(family->pids.at[i], folder, sizeof(folder)))
			add_journals(jobs, folder, family->pids.at[i]);
}

/* A shell, a launcher or profrun may have started the job. */
int jobs_add_process(struct jobs *jobs, uint32_t pid)
{
	struct procfs_family family = { 0 };
	char text[300];
	if (!procfs_start(pid)) {
		snprintf(text, sizeof(text), "there is no process %u", pid);
		return complain(jobs, text);
	}
	procfs_family(pid, &family);
	add_pids(jobs, &family);
	vec_free(&family.pids);
	if (jobs->all.n || jobs->n_over)
		return EXIT_DONE;
	snprintf(text, sizeof(text),
		 "process %u is not profiled, and neither is any process that it started: none "
		 "has a journal. Either none has made a CUDA call yet, or PROF_RANKS excludes "
		 "this process",
		 pid);
	return complain(jobs, text);
}

void jobs_add_user(struct jobs *jobs)
{
	struct procfs_family family = { 0 };
	procfs_of_user(geteuid(), &family);
	add_pids(jobs, &family);
	vec_free(&family.pids);
}

int jobs_add(struct jobs *jobs, const char *what)
{
	char text[400];
	struct stat status;
	bool is_number = what[strspn(what, "0123456789")] == 0;
	if (!stat(what, &status) && S_ISDIR(status.st_mode))
		return jobs_add_folder(jobs, what);
	if (is_number && *what && strlen(what) < 10)
		return jobs_add_process(jobs, (uint32_t)atol(what));
	snprintf(text, sizeof(text), "%.300s: no such run: neither a run's folder nor a process ID",
		 what);
	return complain(jobs, text);
}

void jobs_drop_ended(struct jobs *jobs)
{
	size_t n = 0;
	for (size_t i = 0; i < jobs->all.n; i++)
		if (target_is_alive(jobs->all.at[i].target))
			jobs->all.at[n++] = jobs->all.at[i];
		else
			close_job(&jobs->all.at[i]);
	jobs->all.n = n;
}

void jobs_free(struct jobs *jobs)
{
	for (size_t i = 0; i < jobs->all.n; i++)
		close_job(&jobs->all.at[i]);
	vec_free(&jobs->all);
}
