/* `profrun info DIR|JOURNAL|TRACE`: what is in there, in words. */
#include "export/command.h"
#include "export/exporter.h"
#include "export/files_words.h"
#include "export/journals.h"
#include "export/process.h"
#include "export/report_words.h"
#include "export/runfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void print_steps(const struct process *p)
{
	const struct ingest *f = &p->ingest;
	const struct journal_steps *s = &f->reader.header->steps;
	if (f->last_number == UINT64_MAX) {
		printf("  steps      none told apart (PROF_STEP %s)\n", step_detector_name(s));
		return;
	}
	printf("  steps      %" PRIu64 " by %s", ingest_count_steps(f), step_detector_name(s));
	if (s->mode == STEP_MODE_AUTO)
		printf(", confidence %.2f", p->confidence);
	if (f->run.step_ms.n)
		printf(", %.3f ms each (p50 %.3f, p95 %.3f, n %" PRIu64 ")", f->run.step_ms.mean,
		       sample_percentile(&f->run.step_ms, 0.5),
		       sample_percentile(&f->run.step_ms, 0.95), f->run.step_ms.n);
	printf("\n  recorded   ");
	for (size_t i = 0; i < f->recorded.n && i < 20; i++)
		printf("%s%" PRIu64, i ? ", " : "steps ", f->recorded.at[i]);
	printf("%s\n", f->recorded.n > 20 ? ", ..." : f->recorded.n ? "" : "no step");
}

static void print_counts(const struct ingest *f)
{
	const struct ingest_counts *c = &f->counts;
	printf("  calls      %" PRIu64, c->calls);
	for (unsigned i = 0; i <= CAT_COUNT; i++)
		if (c->calls_by_category[i])
			printf(", %s %" PRIu64, category_name((uint8_t)i), c->calls_by_category[i]);
	printf("\n  gpu work   %" PRIu64 ", kernels %" PRIu64 ", copies %" PRIu64
	       ", memsets %" PRIu64 ", waits %" PRIu64 "\n",
	       c->works, c->works_by_kind[REC_KERNEL], c->works_by_kind[REC_MEMCPY],
	       c->works_by_kind[REC_MEMSET], c->works_by_kind[REC_GPU_SYNC]);
	printf("  pairing    %" PRIu64 " calls paired, %" PRIu64 " calls without work, %" PRIu64
	       " pieces of work without call, %" PRIu64 " late\n",
	       c->paired, c->calls_without_work, c->works_without_call, c->late);
}

static void print_stacks(const struct dict *d)
{
	if (d->stacks.n)
		printf("  stacks     %zu different, over %zu objects and %zu Python functions\n",
		       d->stacks.n, d->modules.n, d->codes.n);
	else
		printf("  stacks     none\n");
}

static void print_losses(const struct ingest *f)
{
	const struct journal_header *h = f->reader.header;
	uint64_t dropped = atomic_load(&h->dropped_records),
		 names = atomic_load(&h->dropped_dictionary);
	printf("  dropped    %" PRIu64 " records", dropped);
	if (names)
		printf(", %" PRIu64 " names", names);
	if (f->counts.gpu_lost)
		printf(", %" PRIu64 " by CUPTI", f->counts.gpu_lost);
	if (f->reader.n_damaged + f->dict.n_damaged)
		printf(", %" PRIu64 " damaged places skipped",
		       f->reader.n_damaged + f->dict.n_damaged);
	if (f->reader.n_impossible)
		printf(", %" PRIu64 " records with impossible times", f->reader.n_impossible);
	printf("%s\n", f->reader.is_truncated ? "; the file is cut short" : "");
}

/* What there is of a process that died: a recorded step that it died in has no end, and CUPTI hands GPU times over late. */
static void print_whole(const struct ingest *f)
{
	bool is_cut = f->recorded.n && f->recorded.at[f->recorded.n - 1] == f->last_number;
	printf("  whole      ");
	if (!f->recorded.n)
		printf("nothing: no step was recorded");
	else if (is_cut)
		printf("%s, not %" PRIu64 ", which it died in",
		       f->recorded.n > 1 ? "all recorded steps before" : "no recorded step",
		       f->last_number);
	else
		printf("all recorded steps");
	if (f->counts.calls_without_work)
		printf("; GPU times of %" PRIu64 " calls did not come any more",
		       f->counts.calls_without_work);
	printf("\n");
}

static void print_death(const struct process *p, const json_t *run)
{
	char death[200];
	json_t *described = process_describe(p);
	printf("  state      %s\n", report_death(death, sizeof(death), run, described));
	json_decref(described);
	if (p->ingest.last_number != UINT64_MAX)
		print_whole(&p->ingest);
}

static void print_process(const struct process *p, const json_t *run)
{
	const struct ingest *f = &p->ingest;
	const struct journal_header *h = f->reader.header;
	const char *command = tables_fact(&f->dict.t, "command"),
		   *rank = tables_fact(&f->dict.t, "rank");
	const char *cupti = tables_fact(&f->dict.t, "cupti");
	bool is_alive = !atomic_load(&h->ended_ticks) && process_is_alive(p);
	printf("process %u%s%s: %s\n", h->pid, rank ? ", rank " : "", rank ? rank : "",
	       command ? command : "(unknown command)");
	if (is_alive || p->state != PROCESS_KILLED)
		printf("  state      %s\n", is_alive ? "running" : "ended");
	else
		print_death(p, run);
	printf("  threads    %zu\n", f->dict.t.threads.n);
	for (size_t i = 0; i < f->dict.t.devices.n; i++)
		printf("  device %u   %s\n", f->dict.t.devices.at[i].id,
		       f->dict.t.devices.at[i].name);
	print_steps(p);
	print_counts(f);
	print_stacks(&f->dict);
	print_losses(f);
	printf("  clock      %s%s\n",
	       h->clock.kind == CLOCK_KIND_TSC ? "time-stamp counter" : "CLOCK_MONOTONIC",
	       f->time.is_estimate ? ", its rate is a guess" : "");
	printf("  cupti      %s\n", cupti ? cupti : f->saw_gpu_on ? "used" : "not used");
}

/* `run`: of the folder that it is in, or NULL. */
static int info_journal(const char *path, const json_t *run)
{
	struct process p;
	struct output nowhere = { .n_formats = 0 };
	struct err e;
	if (process_export(&p, &nowhere, path, &e))
		return data_error("%s", e.text);
	print_process(&p, run);
	bool is_damaged = process_complain_of_damage(&p);
	process_close(&p);
	output_free(&nowhere);
	return is_damaged ? EXIT_DATA : EXIT_DONE;
}

static void print_command(const json_t *run)
{
	const json_t *command = json_object_get(run, "command");
	if (!json_is_array(command))
		return;
	printf("  command   ");
	for (size_t i = 0; i < json_array_size(command); i++) {
		const char *word = json_string_value(json_array_get(command, i));
		printf(" %s", word ? word : "?");
	}
	printf("\n");
}

static void print_run(const char *folder, const json_t *root)
{
	const json_t *run = json_object_get(root, "run"),
		     *processes = json_object_get(root, "processes");
	const char *host = json_string_value(json_object_get(run, "host"));
	const char *start = json_string_value(json_object_get(run, "start"));
	const struct exporter *x;
	char nouns[40];
	printf("run in %s\n", folder);
	print_command(run);
	if (host)
		printf("  host       %s\n", host);
	if (start)
		printf("  start      %s\n", start);
	for (size_t i = 0; (x = exporter_at(i)); i++) {
		snprintf(nouns, sizeof(nouns), "%ss", x->noun);
		if (!i || files_of(processes, x))
			printf("  %-10s %lld\n", nouns, (long long)files_of(processes, x));
	}
}

static int info_folder(const char *folder)
{
	struct journals j;
	struct err e;
	int status = EXIT_DONE;
	if (journals_list(&j, folder, &e))
		return data_error("%s", e.text);
	json_t *root = runfile_load(folder);
	print_run(folder, root);
	for (size_t i = 0; i < j.paths.n; i++) {
		int one = info_journal(j.paths.at[i], json_object_get(root, "run"));
		status = one ? one : status;
	}
	json_decref(root);
	journals_free(&j);
	return status;
}

static bool has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);
	return n >= m && !strcmp(path + n - m, suffix);
}

/* Of the format that writes files with such a name; of another name, as Perfetto's. */
static const struct exporter *exporter_of(const char *path)
{
	const struct exporter *x;
	for (size_t i = 0; (x = exporter_at(i)); i++)
		if (x->count && has_suffix(path, x->suffix))
			return x;
	return &exporter_perfetto;
}

static int info_trace(const char *path)
{
	const struct exporter *x = exporter_of(path);
	struct trace_count c;
	struct err e;
	if (x->count(path, &c, &e))
		return data_error("%s", e.text);
	printf("%s %s\n", x->title, path);
	printf("  records    %" PRIu64 "\n", c.records);
	printf("  processes  %" PRIu64 "\n", c.processes);
	printf("  tracks     %" PRIu64 ", of them threads %" PRIu64 ", counters %" PRIu64 "\n",
	       c.tracks, c.threads, c.counters);
	printf("  slices     %" PRIu64 ", instants %" PRIu64 ", counter points %" PRIu64 "\n",
	       c.slices, c.instants, c.counter_points);
	printf("  arrows     %" PRIu64 " begin, %" PRIu64 " end\n", c.flows, c.flow_ends);
	return EXIT_DONE;
}

int cmd_info(int argc, char **argv)
{
	struct stat status;
	if (argc != 2)
		return usage_error("%s", command_usage("info"));
	if (stat(argv[1], &status))
		return data_error("%s: no such file or folder", argv[1]);
	if (S_ISDIR(status.st_mode))
		return info_folder(argv[1]);
	if (has_suffix(argv[1], ".journal") || journals_is_one(argv[1]))
		return info_journal(argv[1], NULL);
	return info_trace(argv[1]);
}
