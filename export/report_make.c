/* See report_make.h. */
#include "export/report_make.h"

#include "core/source/process/journals.h"
#include "core/util/path.h"
#include "export/collected.h"
#include "export/foreign.h"
#include "export/process.h"
#include "export/report_exit.h"
#include "export/report_file.h"
#include "export/report_json.h"
#include "export/report_ranks.h"
#include "export/run_journals.h"
#include "export/work_progress.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

static void diagnostic(struct report_made *r, const char *text)
{
	vec_push(&r->diagnostics, mem_text(text));
}

void report_made_free(struct report_made *r)
{
	for (size_t i = 0; i < r->diagnostics.n; i++)
		free(r->diagnostics.at[i]);
	vec_free(&r->diagnostics);
	report_free(&r->report);
}

static void start(struct report_made *r)
{
	memset(r, 0, sizeof(*r));
	report_start(&r->report);
	fields_clear(&report_run_fields, &r->by_journal);
}

/* ---- One journal ---- */

/* Splits the command at blanks, because the journal stores it as one text. */
static void split_command(struct report_run *run, const char *text, struct arena *a)
{
	size_t n = 0;
	for (const char *at = text; *at; at++)
		n += *at != ' ' && (at == text || at[-1] == ' ');
	list_make(a, &run->command, n);
	n = 0;
	for (const char *at = text; *at;) {
		char word[4096];
		size_t bytes = strcspn(at, " ");
		snprintf(word, sizeof(word), "%.*s", (int)bytes, at);
		if (bytes)
			run->command.at[n++] = arena_text(a, word);
		at += bytes + (at[bytes] == ' ');
	}
}

/* Describes the run as the first process's journal does, in case there is no run.json. */
static void read_run(struct report_run *run, const struct process *p, struct arena *a)
{
	const struct tables *t = driver_run(p->driver)->tables;
	const char *command = tables_fact(t, "command"), *host = tables_fact(t, "host"),
		   *cwd = tables_fact(t, "cwd"), *version = tables_fact(t, "version");
	time_t began = (time_t)(driver_began_ns(p->driver) / 1000000000);
	char start[64];
	struct tm broken;
	run->host = arena_text(a, host ? host : "");
	run->cwd = arena_text(a, cwd ? cwd : "");
	run->version = arena_text(a, version ? version : "");
	if (command)
		split_command(run, command, a);
	if (gmtime_r(&began, &broken) &&
	    strftime(start, sizeof(start), "%Y-%m-%dT%H:%M:%SZ", &broken))
		run->start = arena_text(a, start);
}

/* Uses the journal's description if there is no run.json. */
static void take_run(struct report_made *r)
{
	struct report_run *run = &r->report.run, by_file = *run;
	if (*run->start || !*r->by_journal.start)
		return;
	*run = r->by_journal;
	if (!*run->host)
		run->host = by_file.host;
}

static struct report_process *analyse(struct report_made *made, const char *path,
				      const char *step_loop, struct err *e)
{
	struct output out = { .analyses = true, .step_loop = step_loop };
	struct process *p = mem_zero(sizeof(*p));
	struct report_process *report = NULL;
	if (!process_export(p, &out, path, e)) {
		report = report_process_new();
		process_describe(p, &report->facts, &report->arena);
		analysis_report(p->analysis, report);
		analysis_report_views(p->analysis, report);
		if (!*made->by_journal.start)
			read_run(&made->by_journal, p, &made->report.arena);
		process_close(p);
	}
	free(p);
	output_free(&out);
	return report;
}

/* Reports damage to the journal, because the figures cover only the rest. */
static void note_damage(struct report_made *r, const char *journal, const char *damage)
{
	char text[PATH_MAX + DRIVER_DAMAGE_BYTES];
	if (!*damage)
		return;
	snprintf(text, sizeof(text), "%s: %s", journal, damage);
	diagnostic(r, text);
	r->has_bad_journal = true;
}

int report_make_from_journal(const char *path, const char *step_loop, struct report_made *r,
			     struct err *e)
{
	start(r);
	struct report_process *p = analyse(r, path, step_loop, e);
	if (!p) {
		report_made_free(r);
		return -EINVAL;
	}
	note_damage(r, path, p->facts.damage);
	report_add(&r->report, p);
	take_run(r);
	return 0;
}

/* ---- Traces of other tools ---- */

static void add_trace(struct report_made *r, const char *path, struct err *e)
{
	struct report_run *run = *r->by_journal.start ? NULL : &r->by_journal;
	struct report_process *p = foreign_report(path, run, &r->report.arena, e);
	if (!p) {
		diagnostic(r, e->text);
		r->has_bad_journal = true;
		return;
	}
	note_damage(r, path, p->facts.damage);
	report_add(&r->report, p);
}

int report_make_from_traces(const char *path, struct report_made *r, struct err *e)
{
	struct foreign_files files;
	bool is_any = foreign_list(&files, path);
	start(r);
	for (size_t i = 0; i < files.paths.n; i++) {
		work_progress_about(files.paths.at[i], i, files.paths.n);
		add_trace(r, files.paths.at[i], e);
	}
	foreign_files_free(&files);
	if (is_any && r->report.processes.n) {
		report_compare(&r->report);
		r->report.run = r->by_journal;
		return 0;
	}
	report_made_free(r);
	return is_any ? -EINVAL : -ENOENT;
}

/* ---- A run's folder ---- */

struct making {
	struct collected collected;
	const char *step_loop;
	struct report_made *made;
};

/* Says which report is used in place of the journal, or that it is used although it has lost
 * records. */
static void note_source(struct report_made *r, const char *journal, enum collected_why why,
			bool is_stored)
{
	char text[400];
	if (why == COLLECTED_WHOLE || (why == COLLECTED_LIVE && !is_stored))
		return;
	if (why == COLLECTED_LIVE)
		snprintf(text, sizeof(text),
			 "%.200s: still running; this is the report of the steps analyzed so far",
			 journal);
	else if (is_stored)
		snprintf(text, sizeof(text),
			 "%.200s no longer has its older records (PROF_BUFFER_MB): this is the "
			 "report made during the run",
			 journal);
	else
		snprintf(text, sizeof(text),
			 "%.200s no longer has its older records (PROF_BUFFER_MB), and no report "
			 "was made during the run: figures cover only the remaining records",
			 journal);
	diagnostic(r, text);
}

/* Returns the report that the collector made, or NULL if the journal should be read. */
static struct report_process *stored_report(const struct making *m, const char *path,
					    const char *journal)
{
	enum collected_why why;
	struct report_process *stored = collected_find(&m->collected, path, journal, &why);
	note_source(m->made, journal, why, stored);
	return stored ? report_process_hold(stored) : NULL;
}

static void add_journal(const struct making *m, const char *path)
{
	char journal[400];
	struct err e;
	snprintf(journal, sizeof(journal), "journal/%.300s", path_base(path));
	struct report_process *p = m->step_loop ? NULL : stored_report(m, path, journal);
	if (!p)
		p = analyse(m->made, path, m->step_loop, &e);
	if (p) {
		note_damage(m->made, path, p->facts.damage);
		report_add(&m->made->report, p);
		return;
	}
	diagnostic(m->made, e.text);
	m->made->has_bad_journal = true;
}

int report_make(const char *folder, const char *step_loop, struct report_made *r, struct err *e)
{
	struct journals j;
	int error = run_journals(&j, folder, e);
	if (error)
		return error;
	struct making m = { .made = r, .step_loop = step_loop };
	start(r);
	report_read_run(&r->report, folder);
	collected_load(&m.collected, folder);
	for (size_t i = 0; i < j.paths.n; i++) {
		work_progress_about(j.paths.at[i], i, j.paths.n);
		add_journal(&m, j.paths.at[i]);
	}
	journals_free(&j);
	collected_free(&m.collected);
	report_compare(&r->report);
	take_run(r);
	report_exit_fill(&r->report);
	report_omit_silent(&r->report);
	return 0;
}

int report_make_any(const char *path, const char *step_loop, struct report_made *r, struct err *e)
{
	struct stat status;
	if (stat(path, &status))
		return err_set(e, -ENOENT, "%.180s: no such file or folder", path);
	if (foreign_is_at(path))
		return report_make_from_traces(path, r, e);
	if (S_ISDIR(status.st_mode))
		return report_make(path, step_loop, r, e);
	if (journals_is_one(path))
		return report_make_from_journal(path, step_loop, r, e);
	return err_set(e, -EINVAL, "%.180s: neither a run of profrun nor a trace of torch.profiler",
		       path);
}
