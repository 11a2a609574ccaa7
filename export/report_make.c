/* See report_make.h. */
#include "export/report_make.h"

#include "core/source/journal/damage.h"
#include "core/util/path.h"
#include "export/journals.h"
#include "export/process.h"
#include "export/procfs.h"
#include "export/report_file.h"
#include "export/report_json.h"
#include "export/runfile.h"

#include <errno.h>
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
	json_decref(r->root);
	json_decref(r->run);
	r->root = r->run = NULL;
}

/* ---- One journal ---- */

/* The journal has no more of the command's words than the blanks between them. */
static json_t *words_of(const char *text)
{
	json_t *list = json_array();
	for (const char *at = text; *at;) {
		char word[4096];
		size_t n = strcspn(at, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, at);
		if (n)
			json_array_append_new(list, report_json_text(word));
		at += n + (at[n] == ' ');
	}
	return list;
}

/* What run.json would say of the run, as far as its first process knows. */
static json_t *run_by_journal(const struct process *p)
{
	static const char *const kept[] = { "host", "cwd", "version" };
	const struct tables *d = &p->ingest.dict;
	const char *command = tables_fact(d, "command");
	time_t began = (time_t)(p->ingest.reader.header->clock.first.realtime_ns / 1000000000);
	char start[64];
	struct tm broken;
	json_t *run = json_object();
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (tables_fact(d, kept[i]))
			json_object_set_new(run, kept[i],
					    report_json_text(tables_fact(d, kept[i])));
	if (command)
		json_object_set_new(run, "command", words_of(command));
	if (gmtime_r(&began, &broken) &&
	    strftime(start, sizeof(start), "%Y-%m-%dT%H:%M:%SZ", &broken))
		json_object_set_new(run, "start", json_string(start));
	return run;
}

/* Where there is no run.json. */
static void take_run(struct report_made *r)
{
	json_t *run = json_object_get(r->root, "run");
	if (!json_object_get(run, "start"))
		json_object_update(run, r->run);
}

static json_t *analyse(struct report_made *made, const char *path, struct err *e)
{
	struct output out = { .analyses = true };
	struct process *p = mem_zero(sizeof(*p));
	json_t *report = NULL;
	if (!process_export(p, &out, path, e)) {
		json_t *described = process_describe(p);
		report = analysis_report(p->analysis, described);
		if (!made->run)
			made->run = run_by_journal(p);
		json_decref(described);
		process_close(p);
	}
	free(p);
	output_free(&out);
	return report;
}

/* The figures are of what is left. */
static void note_damage(struct report_made *r, const char *journal, const json_t *report)
{
	char text[PATH_MAX + DAMAGE_BYTES];
	const char *damage = json_string_value(json_object_get(report, "damage"));
	if (!damage)
		return;
	snprintf(text, sizeof(text), "%s: %s", journal, damage);
	diagnostic(r, text);
	r->has_bad_journal = true;
}

int report_make_from_journal(const char *path, struct report_made *r, struct err *e)
{
	*r = (struct report_made){ 0 };
	json_t *report = analyse(r, path, e);
	if (!report)
		return -EINVAL;
	note_damage(r, path, report);
	json_t *processes = json_array();
	json_array_append_new(processes, report);
	r->root = report_root("/nonexistent", processes);
	take_run(r);
	return 0;
}

/* ---- A run's folder ---- */

static bool is_collected_now(const char *path)
{
	struct journal_header h = { 0 };
	FILE *f = fopen(path, "rbe");
	if (!f)
		return false;
	size_t n = fread(&h, 1, sizeof(h), f);
	fclose(f);
	uint32_t collector = n == sizeof(h) ? atomic_load(&h.collector) : 0;
	return collector && procfs_start(collector);
}

static bool is_recycled(const json_t *runfile, const char *journal)
{
	const json_t *p = report_find(runfile, journal);
	return json_is_false(json_object_get(p, "journal_is_whole"));
}

struct making {
	const json_t *runfile, *stored;
	json_t *processes;
	struct report_made *made;
};

/* A collector at work takes chunks away under a reader's eyes; what it has found so far is the better answer. */
static json_t *stored_report(const struct making *m, const char *path, const char *journal)
{
	char text[400];
	bool is_live = is_collected_now(path), is_lost = is_recycled(m->runfile, journal);
	json_t *stored = is_live || is_lost ? report_find(m->stored, journal) : NULL;
	if (stored && is_live)
		snprintf(text, sizeof(text),
			 "%.200s: still running; as of the last recorded step that was analysed",
			 journal);
	else if (stored)
		snprintf(text, sizeof(text),
			 "%.200s is not whole (PROF_BUFFER_MB): this is the report that was made "
			 "during the run",
			 journal);
	else if (is_lost)
		snprintf(text, sizeof(text),
			 "%.200s is not whole (PROF_BUFFER_MB), and no report was made during the "
			 "run: figures are of its rest",
			 journal);
	if (stored || is_lost)
		diagnostic(m->made, text);
	return json_incref(stored);
}

static void add_journal(const struct making *m, const char *path)
{
	char journal[400];
	struct err e;
	snprintf(journal, sizeof(journal), "journal/%.300s", path_base(path));
	json_t *report = stored_report(m, path, journal);
	if (!report)
		report = analyse(m->made, path, &e);
	if (report) {
		note_damage(m->made, path, report);
		json_array_append_new(m->processes, report);
		return;
	}
	diagnostic(m->made, e.text);
	m->made->has_bad_journal = true;
}

int report_make(const char *folder, struct report_made *r, struct err *e)
{
	struct journals j;
	*r = (struct report_made){ 0 };
	int error = journals_list(&j, folder, e);
	if (error)
		return error;
	json_t *runfile = runfile_load(folder), *stored = report_load(folder);
	struct making m = {
		.runfile = runfile, .stored = stored, .processes = json_array(), .made = r
	};
	for (size_t i = 0; i < j.paths.n; i++)
		add_journal(&m, j.paths.at[i]);
	journals_free(&j);
	json_decref(runfile);
	json_decref(stored);
	r->root = report_root(folder, m.processes);
	take_run(r);
	report_omit_silent(r->root);
	return 0;
}

/* ---- Silent processes ---- */

void report_omit_silent(json_t *root)
{
	json_t *all = json_object_get(root, "processes"), *kept = json_array();
	size_t n = json_array_size(all);
	for (size_t i = 0; i < n; i++) {
		json_t *p = json_array_get(all, i);
		if (!json_is_true(json_object_get(p, "is_silent")))
			json_array_append(kept, p);
	}
	size_t n_kept = json_array_size(kept);
	if (n_kept && n_kept < n) {
		json_object_set(root, "processes", kept);
		json_object_set_new(json_object_get(root, "run"), "silent_processes",
				    json_integer((json_int_t)(n - n_kept)));
	}
	json_decref(kept);
}
