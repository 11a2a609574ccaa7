/* See live.h. */
#include "export/live.h"

#include "core/source/process/journals.h"
#include "core/util/path.h"
#include "core/util/procfs.h"
#include "export/command.h"
#include "export/report_file.h"
#include "export/runfile.h"

#include <limits.h>
#include <math.h>

/* Returns when a file of the folder was changed; 0: there is none. */
static struct timespec changed(const char *folder, const char *name)
{
	char path[PATH_MAX];
	struct stat status;
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path) ||
	    stat(path, &status))
		return (struct timespec){ 0 };
	return status.st_mtim;
}

static bool is_same(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static void read_runfile(struct live_run *r)
{
	json_decref(r->runfile);
	arena_free(&r->arena);
	r->arena = (struct arena){ 0 };
	r->facts.n = 0;
	r->runfile = runfile_load(r->folder);
	const json_t *list = json_object_get(r->runfile, "processes");
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct process_facts *facts = arena_zero(&r->arena, sizeof(*facts));
		fields_read(&process_facts_fields, facts, json_array_get(list, i), &r->arena);
		vec_push(&r->facts, facts);
	}
}

/* The files are replaced as a whole, so a file that is read is never incomplete. */
static void read_run(struct live_run *r)
{
	struct timespec run_time = changed(r->folder, "run.json"),
			report_time = changed(r->folder, "report.json");
	if (!r->runfile || !is_same(&run_time, &r->run_time))
		read_runfile(r);
	if (!is_same(&report_time, &r->report_time)) {
		report_free(&r->report);
		report_load(&r->report, r->folder);
	}
	r->run_time = run_time;
	r->report_time = report_time;
}

static void free_run(struct live_run *r)
{
	json_decref(r->runfile);
	report_free(&r->report);
	arena_free(&r->arena);
	vec_free(&r->facts);
	free(r->folder);
}

static struct live_run *find(const struct live *live, const char *folder)
{
	for (size_t i = 0; i < live->runs.n; i++)
		if (!strcmp(live->runs.at[i].folder, folder))
			return &live->runs.at[i];
	return NULL;
}

static bool has_job(const struct jobs *jobs, const char *folder)
{
	for (size_t i = 0; i < jobs->all.n; i++)
		if (!strcmp(jobs->all.at[i].folder, folder))
			return true;
	return false;
}

static void start_run(struct live *live, const char *folder)
{
	struct live_run r = { .folder = mem_text(folder) };
	report_start(&r.report);
	vec_push(&live->runs, r);
}

void live_read(struct live *live, const struct jobs *jobs)
{
	size_t n = 0;
	for (size_t i = 0; i < live->runs.n; i++)
		if (has_job(jobs, live->runs.at[i].folder))
			live->runs.at[n++] = live->runs.at[i];
		else
			free_run(&live->runs.at[i]);
	live->runs.n = n;
	for (size_t i = 0; i < jobs->all.n; i++)
		if (!find(live, jobs->all.at[i].folder))
			start_run(live, jobs->all.at[i].folder);
	for (size_t i = 0; i < live->runs.n; i++)
		read_run(&live->runs.at[i]);
	for (size_t i = 0; i < jobs->all.n; i++)
		target_read_facts(jobs->all.at[i].target);
}

void live_free(struct live *live)
{
	for (size_t i = 0; i < live->runs.n; i++)
		free_run(&live->runs.at[i]);
	vec_free(&live->runs);
}

static const struct process_facts *facts_of(const struct live_run *r, const char *journal)
{
	for (size_t i = 0; i < r->facts.n; i++)
		if (!strcmp(r->facts.at[i]->journal, journal))
			return r->facts.at[i];
	return NULL;
}

static const char *first_known(const char *a, const char *b)
{
	return *a ? a : b;
}

struct live_process live_process(const struct live *live, const struct job *job)
{
	char journal[400];
	const struct live_run *run = find(live, job->folder);
	snprintf(journal, sizeof(journal), "journal/%.300s", path_base(job->journal));
	const struct process_facts *facts = facts_of(run, journal);
	uint32_t collector = journals_collector(job->journal);
	struct live_process p = { .job = job,
				  .run = run,
				  .pid = target_pid(job->target),
				  .rank = target_fact(job->target, "rank"),
				  .command = target_fact(job->target, "command"),
				  .steps = -1,
				  .step_ms = NAN,
				  .facts = facts,
				  .report = report_find(&run->report, journal),
				  .has_collector = collector && procfs_start(collector) };
	if (!facts)
		return p;
	p.rank = first_known(p.rank, facts->rank);
	p.command = first_known(p.command, facts->command);
	if (strcmp(facts->steps.detector, "none") != 0 && *facts->steps.detector)
		p.steps = facts->steps.count;
	if (facts->steps.step_ms)
		p.step_ms = facts->steps.step_ms->p50;
	return p;
}

int live_say_none(void)
{
	return data_error("no profiled job of this user is running");
}
