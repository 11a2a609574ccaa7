/* `profrun info DIR|JOURNAL|TRACE`: prints what the folder or file contains. */
#include "core/util/path.h"
#include "export/collected.h"
#include "export/command.h"
#include "export/exporter.h"
#include "export/files_words.h"
#include "export/foreign.h"
#include "export/print.h"
#include "export/process.h"
#include "export/report_words.h"
#include "export/run_journals.h"
#include "export/runfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void print_steps(const struct process *p, const struct process_facts *facts)
{
	const struct facts_steps *s = &facts->steps;
	char numbers[120];
	const struct sample_summary *ms = s->step_ms;
	if (!*s->detector || !strcmp(s->detector, "none")) {
		print_out("  steps      none detected (PROF_STEP=%s)\n",
			  driver_detector(p->driver));
		return;
	}
	print_out("  steps      %" PRId64 ", detected by %s", s->count, s->detector);
	if (s->period >= 0) /* they were learned */
		print_out(", confidence %.2f", s->confidence);
	if (ms)
		print_out(", %.3f ms each (p50 %.3f, p95 %.3f, n %" PRId64 ")", ms->mean, ms->p50,
			  ms->p95, ms->n);
	print_out("\n  recorded   %s%s\n", s->recorded.n ? "steps " : "none",
		  report_numbers(numbers, sizeof(numbers), s->recorded.at, s->recorded.n));
}

static void print_captured(const struct process_facts *facts)
{
	const struct facts_completeness *c = &facts->completeness;
	print_out("  captured   %" PRId64 " of %" PRId64
		  " launches of recorded steps have GPU times\n",
		  c->captured, c->launches);
}

static void print_counts(const struct process_facts *facts, const struct driver_details *details)
{
	const struct facts_records *r = facts->records;
	const struct facts_losses *l = &facts->losses;
	print_out("  calls      %" PRId64, r->calls);
	for (unsigned i = 0; i <= CAT_COUNT; i++)
		if (details->calls_by_category[i])
			print_out(", %s %" PRIu64, category_name((uint8_t)i),
				  details->calls_by_category[i]);
	print_out("\n  gpu work   %" PRIu64 ", kernels %" PRId64 ", copies %" PRId64
		  ", memsets %" PRId64 ", waits %" PRId64 "\n",
		  details->n_works, r->kernels, r->memcpys, r->memsets, r->gpu_syncs);
	print_out("  pairing    %" PRId64 " calls paired, %" PRId64
		  " calls without GPU work, %" PRId64 " GPU activities without a call, %" PRId64
		  " records too late\n",
		  r->paired, l->calls_without_gpu_work, l->gpu_work_without_call, l->late);
}

static void print_stacks(const struct driver_details *d)
{
	if (d->n_stacks)
		print_out("  stacks     %zu distinct, in %zu libraries and %zu Python functions\n",
			  d->n_stacks, d->n_modules, d->n_codes);
	else
		print_out("  stacks     none\n");
}

static void print_losses(const struct facts_losses *l, const struct driver_details *details)
{
	print_out("  dropped    %" PRId64 " records", l->dropped);
	if (l->dropped)
		print_out(" (%" PRId64 " calls, %" PRId64 " GPU records, %" PRId64
			  " step boundaries)",
			  l->dropped_calls, l->dropped_gpu, l->dropped_steps);
	if (l->dropped_names)
		print_out(", %" PRId64 " names", l->dropped_names);
	if (l->dropped_by_cupti)
		print_out(", %" PRId64 " by CUPTI", l->dropped_by_cupti);
	if (l->damaged_places)
		print_out(", %" PRId64 " damaged places skipped", l->damaged_places);
	if (l->impossible_records)
		print_out(", %" PRId64 " records with impossible values", l->impossible_records);
	print_out("%s\n", details->is_truncated ? "; the journal file is truncated" : "");
}

/* Prints which recorded steps of a process that died are complete. The step in which the process
 * died has no end. GPU times of other steps may be missing, because CUPTI delivers them late. */
static void print_whole(const struct process_facts *facts)
{
	const struct facts_steps *s = &facts->steps;
	bool is_cut = s->recorded.n && s->recorded.at[s->recorded.n - 1] == s->last;
	print_out("  complete   ");
	if (!s->recorded.n)
		print_out("none: no step was recorded");
	else if (is_cut)
		print_out("%s; the process died in step %" PRId64,
			  s->recorded.n > 1 ? "all recorded steps but the last" : "none", s->last);
	else
		print_out("all recorded steps");
	if (facts->losses.calls_without_gpu_work)
		print_out("; the GPU times of %" PRId64 " calls are missing",
			  facts->losses.calls_without_gpu_work);
	print_out("\n");
}

static void print_death(const struct process *p, const struct process_facts *facts,
			const struct report_run *run)
{
	char death[200];
	print_out("  state      %s\n", report_death(death, sizeof(death), run, facts));
	if (driver_has_steps(p->driver))
		print_whole(facts);
}

/* `known`: the facts that the collector has written; NULL: none, or those of the journal are as
 * good. */
static void print_process(const struct process *p, const struct report_run *run,
			  const struct process_facts *known)
{
	const struct driver *d = p->driver;
	const struct tables *t = driver_run(d)->tables;
	const char *command = tables_fact(t, "command"), *rank = tables_fact(t, "rank"),
		   *cupti = tables_fact(t, "cupti"), *native = tables_fact(t, "native host stacks");
	struct arena arena = { 0 };
	struct process_facts facts;
	struct driver_details details;
	bool is_alive = !driver_has_ended(d) && driver_is_alive(d);
	process_describe(p, &facts, &arena);
	if (known) {
		facts.steps = known->steps;
		facts.losses = known->losses;
		facts.completeness = known->completeness;
	}
	driver_details(d, &details);
	print_out("process %" PRId64 "%s%s: %s\n", facts.pid, rank ? ", rank " : "",
		  rank ? rank : "", command ? command : "(unknown command)");
	if (is_alive || driver_state(d) != PROCESS_KILLED)
		print_out("  state      %s\n", is_alive ? "running" : "ended");
	else
		print_death(p, &facts, run);
	print_out("  threads    %zu\n", t->threads.n);
	for (size_t i = 0; i < t->devices.n; i++)
		print_out("  device %u   %s\n", t->devices.at[i].id, t->devices.at[i].name);
	print_steps(p, &facts);
	print_captured(&facts);
	print_counts(&facts, &details);
	print_stacks(&details);
	if (native)
		print_out("  samples    native host stacks: %s\n", native);
	print_losses(&facts.losses, &details);
	print_out("  clock      %s%s\n", details.has_tsc ? "time-stamp counter" : "CLOCK_MONOTONIC",
		  details.guesses_clock ? "(its rate is estimated)" : "");
	print_out("  cupti      %s\n", cupti ? cupti : driver_saw_cupti(d) ? "used" : "not used");
	arena_free(&arena);
}

/*
 * `run`: the member "run" of run.json in the folder that the journal belongs to; NULL: not known.
 */
static int info_journal(const char *path, const struct report_run *run,
			const struct process_facts *known)
{
	struct process p;
	struct output nowhere = { .n_formats = 0 };
	struct err e;
	if (process_export(&p, &nowhere, path, &e))
		return data_error("%s", e.text);
	print_process(&p, run, known);
	bool is_damaged = process_complain_of_damage(&p);
	process_close(&p);
	output_free(&nowhere);
	return is_damaged ? EXIT_DATA : EXIT_DONE;
}

static void print_command(const struct report_run *run)
{
	if (!run->command.at)
		return;
	print_out("  command   ");
	for (size_t i = 0; i < run->command.n; i++)
		print_out(" %s", *run->command.at[i] ? run->command.at[i] : "?");
	print_out("\n");
}

static void print_run(const char *folder, const struct runfile *r)
{
	const struct exporter *x;
	char nouns[40];
	print_out("run in %s\n", folder);
	print_command(&r->run);
	if (*r->run.host)
		print_out("  host       %s\n", r->run.host);
	if (*r->run.start)
		print_out("  start      %s\n", r->run.start);
	for (size_t i = 0; (x = exporter_at(i)); i++) {
		int64_t n = 0;
		for (size_t k = 0; k < r->processes.n; k++)
			n += files_of(&r->processes.at[k], x);
		snprintf(nouns, sizeof(nouns), "%ss", x->noun);
		if (!i || n)
			print_out("  %-10s %lld\n", nouns, (long long)n);
	}
}

/* Returns the facts that `report` shows, if they are not those of the journal. */
static const struct process_facts *known_facts(const struct collected *c, const char *path)
{
	char journal[400];
	enum collected_why why;
	snprintf(journal, sizeof(journal), "journal/%.300s", path_base(path));
	const struct report_process *p = collected_find(c, path, journal, &why);
	return p ? &p->facts : NULL;
}

static int info_folder(const char *folder)
{
	struct journals j;
	struct err e;
	int status = EXIT_DONE;
	if (run_journals(&j, folder, &e))
		return data_error("%s", e.text);
	struct collected collected;
	struct runfile r;
	collected_load(&collected, folder);
	runfile_read(&r, collected.runfile);
	print_run(folder, &r);
	for (size_t i = 0; i < j.paths.n; i++) {
		int one =
			info_journal(j.paths.at[i], &r.run, known_facts(&collected, j.paths.at[i]));
		status = one ? one : status;
	}
	collected_free(&collected);
	runfile_free(&r);
	journals_free(&j);
	return status;
}

static bool has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);
	return n >= m && !strcmp(path + n - m, suffix);
}

/* Returns the format whose files have the suffix of `path`, or else Perfetto's. */
static const struct exporter *exporter_of(const char *path)
{
	const struct exporter *x;
	for (size_t i = 0; (x = exporter_at(i)); i++)
		if (x->count && has_suffix(path, x->suffix))
			return x;
	return &exporter_perfetto;
}

/* ---- Traces of other tools ---- */

static void print_foreign(const char *path, const struct process_facts *facts)
{
	const struct facts_records *r = facts->records;
	const struct facts_losses *l = &facts->losses;
	const struct sample_summary *ms = facts->steps.step_ms;
	char numbers[120];
	print_out("trace of torch.profiler %s\n", path);
	print_out("process %" PRId64 "%s%s\n", facts->pid, *facts->rank ? ", rank " : "",
		  facts->rank);
	for (size_t i = 0; i < facts->devices.n; i++)
		print_out("  device %" PRId64 "   %s\n", facts->devices.at[i].id,
			  facts->devices.at[i].name);
	if (ms)
		print_out("  steps      %s, marked by ProfilerStep, %.3f ms each (p50 %.3f, p95 "
			  "%.3f, n %" PRId64 ")\n",
			  report_numbers(numbers, sizeof(numbers), facts->steps.recorded.at,
					 facts->steps.recorded.n),
			  ms->mean, ms->p50, ms->p95, ms->n);
	else
		print_out("  steps      none marked\n");
	print_captured(facts);
	print_out("  events     %" PRId64 ", on %" PRId64 " threads\n", r->records, facts->threads);
	print_out("  calls      %" PRId64 ", launches %" PRId64 "\n", r->calls, r->launches);
	print_out("  gpu work   kernels %" PRId64 ", copies %" PRId64 ", memsets %" PRId64
		  ", waits %" PRId64 "\n",
		  r->kernels, r->memcpys, r->memsets, r->gpu_syncs);
	print_out("  pairing    %" PRId64 " calls without GPU work, %" PRId64
		  " GPU activities without a call\n",
		  l->calls_without_gpu_work, l->gpu_work_without_call);
	if (l->damaged_places || l->impossible_records)
		print_out("  skipped    %" PRId64 " events without a name, time or thread; %" PRId64
			  " negative durations were set to 0\n",
			  l->damaged_places, l->impossible_records);
	if (*facts->diagnostic)
		print_out("  note       %s\n", facts->diagnostic);
}

static int info_foreign(const char *path)
{
	struct foreign *f;
	struct arena arena = { 0 };
	struct process_facts facts;
	struct err e;
	int status = EXIT_DONE;
	if (foreign_open(&f, path, NULL, &e))
		return data_error("%s", e.text);
	foreign_describe(f, &facts, &arena);
	print_foreign(path, &facts);
	if (*facts.damage)
		status = data_error("%s: %s", path, facts.damage);
	arena_free(&arena);
	foreign_close(f);
	return status;
}

static int info_foreign_folder(const char *folder)
{
	struct foreign_files files;
	int status = EXIT_DONE;
	foreign_list(&files, folder);
	for (size_t i = 0; i < files.paths.n; i++) {
		int one = info_foreign(files.paths.at[i]);
		status = one ? one : status;
	}
	foreign_files_free(&files);
	return status;
}

static int info_trace(const char *path)
{
	const struct exporter *x = exporter_of(path);
	struct trace_count c = { 0 };
	struct err e;
	int error = x->count(path, &c, &e);
	if (error && !c.records && kineto_is_one(path))
		return info_foreign(path);
	if (error)
		return data_error("%s", e.text);
	print_out("%s %s\n", x->title, path);
	print_out("  records    %" PRIu64 "\n", c.records);
	print_out("  processes  %" PRIu64 "\n", c.processes);
	print_out("  tracks     %" PRIu64 ", including threads %" PRIu64 ", counters %" PRIu64 "\n",
		  c.tracks, c.threads, c.counters);
	print_out("  slices     %" PRIu64 ", instants %" PRIu64 ", counter points %" PRIu64 "\n",
		  c.slices, c.instants, c.counter_points);
	print_out("  flows      %" PRIu64 " begin, %" PRIu64 " end\n", c.flows, c.flow_ends);
	return EXIT_DONE;
}

static int take_path(void *request, const char *word)
{
	const char **path = request;
	if (*path)
		return usage_error("info takes one folder or file, got '%s' too", word);
	*path = word;
	return 0;
}

static int run(int argc, char **argv)
{
	const char *path = NULL;
	struct stat about;
	int status;
	if (!command_parse(&command_info, &path, argc, argv, NULL, &status))
		return status;
	if (stat(path, &about))
		return data_error("%s: no such file or folder", path);
	if (S_ISDIR(about.st_mode))
		return foreign_is_at(path) ? info_foreign_folder(path) : info_folder(path);
	if (has_suffix(path, ".journal") || journals_is_one(path))
		return info_journal(path, NULL, NULL);
	return info_trace(path);
}

const struct command command_info = {
	.name = "info",
	.operands = "[DIR|JOURNAL|TRACE]",
	.summary = "show what a run, journal or trace contains: processes, steps, records, losses",
	.wanted = "which folder, journal or trace?",
	.takes_latest = true,
	.operand = take_path,
	.run = run,
};
