/* `profrun export DIR --format F[,F...] [-o PATH]`: writes traces from the journals alone. No
 * collector is needed. */
#include "core/util/path.h"
#include "export/command.h"
#include "export/files_words.h"
#include "export/foreign.h"
#include "export/outfile.h"
#include "export/print.h"
#include "export/process.h"
#include "export/run_journals.h"
#include "export/runfile.h"
#include "export/work_progress.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct request {
	const char *folder, *formats, *path;
	struct step_choice steps;
};

static int take_folder(void *request, const char *word)
{
	struct request *r = request;
	if (r->folder)
		return usage_error("export takes one folder or trace, got '%s' too", word);
	r->folder = word;
	return 0;
}

static int take_steps(void *request, const struct command_option *o, const char *value)
{
	struct request *r = request;
	struct err e;
	(void)o;
	return step_choice_parse(&r->steps, value, &e) ? usage_error("export: %s", e.text) : 0;
}

static const struct command_option options[] = {
	{ .name = "--format",
	  .argument = "F[,F...]",
	  .help = "perfetto (default), chrome, kineto, sqlite, csv, pprof, folded, "
		  "memory\n(PyTorch memory snapshots)",
	  .values = FORMATS_WORDS,
	  .offset = offsetof(struct request, formats) },
	{ .name = "-o",
	  .argument = "PATH",
	  .help = "write below the folder PATH instead of the run's folder",
	  .offset = offsetof(struct request, path) },
	{ .name = "--steps",
	  .argument = "A-B",
	  .help = "only the steps A to B, all in one file per format (memory: one per step)",
	  .take = take_steps },
	{ 0 },
};

static void report(const struct process *p, const char *where)
{
	const char *stem = driver_stem(p->driver), *diagnostic = driver_diagnostic(p->driver);
	struct arena arena = { 0 };
	struct process_facts facts;
	char text[240];
	process_describe(p, &facts, &arena);
	print_out("%s: %s in %s", stem, files_count(text, sizeof(text), &facts), where);
	if (driver_has_steps(p->driver))
		print_out(", %lld steps (%s)", (long long)facts.steps.count,
			  driver_detector(p->driver));
	print_out("\n");
	if (*files_emptiness(text, sizeof(text), &facts))
		print_out("%s: %s\n", stem, text);
	if (*diagnostic)
		print_out("%s: %s\n", stem, diagnostic);
	arena_free(&arena);
}

/* Says that no file was written because no recorded step is among the chosen ones. */
static int say_none(const struct step_choice *c, const char *folder)
{
	return data_error("export: %s has no recorded step from %llu to %llu", folder,
			  (unsigned long long)c->first, (unsigned long long)c->last);
}

/* Exports all journals. A bad journal does not stop the export of the others. */
static int export_all(const struct journals *j, struct output *out, json_t *processes)
{
	uint64_t n_files = 0;
	int status = EXIT_DONE;
	for (size_t i = 0; i < j->paths.n; i++) {
		struct process p;
		struct err e;
		work_progress_about(j->paths.at[i], i, j->paths.n);
		if (process_export(&p, out, j->paths.at[i], &e)) {
			status = data_error("%s", e.text);
			continue;
		}
		if (*driver_trouble(p.driver))
			status = data_error("%s", driver_trouble(p.driver));
		if (process_complain_of_damage(&p))
			status = EXIT_DATA;
		report(&p, out->folder);
		n_files += p.n_traces + p.n_failed;
		json_array_append_new(processes, process_to_json(&p));
		process_close(&p);
	}
	if (!n_files && out->steps.is_set && status == EXIT_DONE)
		status = say_none(&out->steps, out->folder);
	return status;
}

/* Returns whether a file, named relative to the run's folder, has this exporter's format. */
static bool is_of(const struct exporter *x, const char *file)
{
	size_t length = strlen(x->folder);
	return file && !strncmp(file, x->folder, length) && file[length] == '/';
}

static bool writes(const struct output *out, const struct exporter *x)
{
	for (int i = 0; i < out->n_formats; i++)
		if (out->formats[i] == x)
			return true;
	return false;
}

static bool has_name(const json_t *names, const json_t *name)
{
	size_t i;
	const json_t *other;
	json_array_foreach((json_t *)names, i, other)
	{
		if (json_equal(other, name))
			return true;
	}
	return false;
}

/* Adds to files and names of process `p` the former files of the format. */
static void keep_format(const struct exporter *x, const json_t *old, const json_t *former,
			json_t *p)
{
	json_t *files = json_object_get(p, "files"), *names = json_object_get(p, "traces");
	json_t *entry = NULL, *other, *name;
	size_t i, n = 0;
	json_array_foreach(json_object_get(former, "traces"), i, name)
	{
		if (!is_of(x, json_string_value(name)) || has_name(names, name))
			continue;
		json_array_append(names, name);
		n++;
	}
	json_array_foreach(files, i, other)
	{
		if (json_equal(json_object_get(other, "format"), json_object_get(old, "format")))
			entry = other;
	}
	json_int_t n_traces = json_integer_value(json_object_get(p, "n_traces"));
	json_object_set_new(p, "n_traces", json_integer(n_traces + (json_int_t)n));
	if (!entry) {
		json_array_append(files, (json_t *)old);
		return;
	}
	json_int_t n_now = json_integer_value(json_object_get(entry, "n"));
	json_object_set_new(entry, "n", json_integer(n_now + (json_int_t)n));
}

/* Keeps the files that this export does not write anew: those of other formats, and those of other
 * steps if it writes chosen ones. */
static void keep_files(const struct output *out, const json_t *former, json_t *p)
{
	json_t *entry;
	size_t i;
	json_array_foreach(json_object_get(former, "files"), i, entry)
	{
		const char *name = json_string_value(json_object_get(entry, "format"));
		const struct exporter *x = name ? exporter_find(name) : NULL;
		if (x && (out->steps.is_set || !writes(out, x)))
			keep_format(x, entry, former, p);
	}
}

/* Copies from the former run.json what an export does not find out again: other formats' files,
 * and library versions, which can be read only from a live process. */
static void keep_former(const struct output *out, const json_t *before, json_t *processes)
{
	for (size_t i = 0; i < json_array_size(processes); i++) {
		json_t *p = json_array_get(processes, i);
		const char *journal = json_string_value(json_object_get(p, "journal"));
		json_t *old = json_object_get(runfile_process(before, journal), "versions");
		if (old)
			json_object_set(p, "versions", old);
		keep_files(out, runfile_process(before, journal), p);
	}
}

/* ---- Traces of other tools ---- */

/* Traces go to PATH, or to a folder next to the trace or in the folder of traces. */
static void choose_folder(char *to, size_t bytes, const struct request *r)
{
	struct stat status;
	bool is_folder = !stat(r->folder, &status) && S_ISDIR(status.st_mode);
	const char *base = path_base(r->folder), *end = strstr(base, ".json");
	if (r->path)
		snprintf(to, bytes, "%s", r->path);
	else if (is_folder)
		snprintf(to, bytes, "%s/profrun", r->folder);
	else
		snprintf(to, bytes, "%.*s.profrun",
			 (int)(end ? (size_t)(end - r->folder) : strlen(r->folder)), r->folder);
}

static int export_trace(const char *path, const struct foreign_output *out)
{
	struct foreign *f;
	struct err e;
	int status = EXIT_DONE;
	if (foreign_open(&f, path, out, &e))
		return data_error("%s", e.text);
	const char *damage = kineto_damage(foreign_trace(f)),
		   *diagnostic = kineto_diagnostic(foreign_trace(f));
	if (*damage)
		status = data_error("%s: %s", path, damage);
	print_out("%s: %llu trace%s in %s\n", path_base(path),
		  (unsigned long long)foreign_n_written(f), foreign_n_written(f) == 1 ? "" : "s",
		  out->folder);
	if (!foreign_n_written(f) && out->steps.is_set && !*diagnostic)
		status = say_none(&out->steps, path);
	if (*diagnostic)
		print_out("%s: %s\n", path_base(path), diagnostic);
	foreign_close(f);
	return status;
}

static int export_traces(const struct request *r, const struct output *as)
{
	struct foreign_output out = { .n_formats = as->n_formats, .steps = r->steps };
	struct foreign_files files;
	struct err e;
	char folder[PATH_MAX];
	int status = EXIT_DONE;
	memcpy(out.formats, as->formats, sizeof(out.formats));
	choose_folder(folder, sizeof(folder), r);
	out.folder = folder;
	if (make_folders(folder, &e))
		return data_error("%s", e.text);
	foreign_list(&files, r->folder);
	for (size_t i = 0; i < files.paths.n; i++) {
		work_progress_about(files.paths.at[i], i, files.paths.n);
		int one = export_trace(files.paths.at[i], &out);
		status = one ? one : status;
	}
	foreign_files_free(&files);
	return status;
}

static int export(const struct request *r)
{
	struct output out = { .n_formats = 0 };
	struct journals journals;
	struct err e;
	int status;
	out.n_formats = exporters_parse(r->formats, out.formats, &e);
	if (out.n_formats < 0)
		return usage_error("export: %s", e.text);
	out.steps = r->steps;
	if (foreign_is_at(r->folder))
		return export_traces(r, &out);
	if (run_journals(&journals, r->folder, &e))
		return data_error("%s", e.text);
	out.is_plain = r->path != NULL;
	snprintf(out.folder, sizeof(out.folder), "%s", r->path ? r->path : r->folder);
	if (make_folders(out.folder, &e)) {
		journals_free(&journals);
		return data_error("%s", e.text);
	}
	json_t *processes = json_array();
	status = export_all(&journals, &out, processes);
	if (!r->path) {
		json_t *root = runfile_load(r->folder);
		keep_former(&out, root, processes);
		json_object_set(root, "processes", processes);
		if (runfile_save(r->folder, root, &e))
			status = data_error("%s", e.text);
		json_decref(root);
	}
	json_decref(processes);
	output_free(&out);
	journals_free(&journals);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = { .formats = "perfetto" };
	int status;
	if (!command_parse(&command_export, &r, argc, argv, NULL, &status))
		return status;
	work_progress_start();
	status = export(&r);
	work_progress_end();
	return status;
}

const struct command command_export = {
	.name = "export",
	.operands = "[DIR|TRACE]",
	.summary = "write traces again from a run's journals, or from a trace of torch.profiler",
	.options = options,
	.wanted = "which run's folder?",
	.takes_latest = true,
	.operand = take_folder,
	.run = run,
};
