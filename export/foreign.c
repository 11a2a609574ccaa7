/* See foreign.h. */
#include "export/foreign.h"

#include "core/source/process/journals.h"
#include "core/util/path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Files ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), bytes = strlen(suffix);
	return n > bytes && !strcmp(name + n - bytes, suffix);
}

static void list_folder(struct foreign_files *files, const char *folder)
{
	char path[PATH_MAX];
	DIR *d = opendir(folder);
	for (struct dirent *entry; d && (entry = readdir(d));) {
		const char *name = entry->d_name;
		if (*name == '.' || (!has_suffix(name, ".json") && !has_suffix(name, ".json.gz")))
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path))
			vec_push(&files->paths, mem_text(path));
	}
	if (d)
		closedir(d);
	if (files->paths.n)
		qsort(files->paths.at, files->paths.n, sizeof(*files->paths.at), by_name);
}

bool foreign_list(struct foreign_files *files, const char *path)
{
	struct stat status;
	memset(files, 0, sizeof(*files));
	if (stat(path, &status))
		return false;
	if (S_ISDIR(status.st_mode))
		list_folder(files, path);
	else if (kineto_is_one(path))
		vec_push(&files->paths, mem_text(path));
	return files->paths.n;
}

void foreign_files_free(struct foreign_files *files)
{
	for (size_t i = 0; i < files->paths.n; i++)
		free(files->paths.at[i]);
	vec_free(&files->paths);
}

/* Returns whether the folder is that of a run. Its run.json and report.json are no traces. */
static bool is_run(const char *folder)
{
	static const char *const names[] = { "journal", "run.json" };
	char path[PATH_MAX];
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int n = snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		if (n >= (int)sizeof(path) || !access(path, F_OK))
			return true;
	}
	return false;
}

bool foreign_is_at(const char *path)
{
	struct stat status;
	struct foreign_files files;
	if (stat(path, &status))
		return false;
	if (S_ISDIR(status.st_mode) ? is_run(path) : journals_is_one(path))
		return false;
	bool is_any = foreign_list(&files, path);
	foreign_files_free(&files);
	return is_any;
}

/* ---- One trace ---- */

struct foreign {
	struct kineto *trace;
	struct analysis *analysis;
	const struct foreign_output *out; /* NULL: only analyzed */
	struct step_files files;
	char name[200]; /* of its folder */
	uint64_t n_written;
	struct err trouble; /* the first file that could not be written; "": none */
};

/* Chooses the rank, or the file's name without its suffix. */
static void choose_name(struct foreign *f, const char *path)
{
	const char *rank = tables_fact(kineto_run(f->trace)->tables, "rank"),
		   *base = path_base(path), *end = strstr(base, ".json");
	size_t n = end && end > base ? (size_t)(end - base) : strlen(base);
	if (rank && *rank)
		snprintf(f->name, sizeof(f->name), "%.20s", rank);
	else
		snprintf(f->name, sizeof(f->name), "%.*s", (int)(n < 190 ? n : 190), base);
}

static void on_written(void *context, int format, const char *relative, bool is_empty)
{
	struct foreign *f = context;
	(void)format;
	(void)relative;
	(void)is_empty;
	f->n_written++;
}

static void on_failed(void *context, const struct err *e)
{
	struct foreign *f = context;
	if (!*f->trouble.text)
		f->trouble = *e;
}

static void start_files(struct foreign *f, const struct foreign_output *out)
{
	f->files = (struct step_files){ .formats = out->formats,
					.n_formats = out->n_formats,
					.choice = out->steps,
					.folder = out->folder,
					.is_plain = true,
					.name = f->name,
					.context = f,
					.written = on_written,
					.failed = on_failed };
}

static void take_step(void *context, const struct model_step *m)
{
	struct foreign *f = context;
	const struct analyzed_step *step = analysis_step(f->analysis, m);
	if (f->out && f->out->take_step)
		f->out->take_step(f->out->take_context, step);
	step_files_add(&f->files, step);
}

int foreign_open(struct foreign **to, const char *path, const struct foreign_output *out,
		 struct err *e)
{
	struct foreign *f = mem_zero(sizeof(*f));
	int error = kineto_open(&f->trace, path, e);
	if (error) {
		free(f);
		return error;
	}
	choose_name(f, path);
	f->out = out;
	if (out)
		start_files(f, out);
	f->analysis = analysis_new(kineto_run(f->trace), true);
	kineto_steps(f->trace, take_step, f);
	step_files_end(&f->files);
	if (*f->trouble.text) {
		*e = f->trouble;
		foreign_close(f);
		return -EIO;
	}
	*to = f;
	return 0;
}

void foreign_close(struct foreign *f)
{
	if (!f)
		return;
	analysis_free(f->analysis);
	kineto_close(f->trace);
	free(f);
}

struct analysis *foreign_analysis(struct foreign *f)
{
	return f->analysis;
}

const struct kineto *foreign_trace(const struct foreign *f)
{
	return f->trace;
}

uint64_t foreign_n_written(const struct foreign *f)
{
	return f->n_written;
}

void foreign_describe(const struct foreign *f, struct process_facts *to, struct arena *a)
{
	fields_clear(&process_facts_fields, to);
	kineto_describe(f->trace, to, a);
	to->overhead = facts_overhead(&(struct cost_found){ 0 });
}

/* ---- The report ---- */

static void add_unavailable(struct report_process *p, const struct kineto *k)
{
	const char *what, *why;
	size_t n = 0, n_before = p->unavailable.n;
	const struct report_gap *before = p->unavailable.at;
	while (kineto_unavailable(k, n, &why))
		n++;
	list_make(&p->arena, &p->unavailable, n_before + n);
	for (size_t i = 0; i < n_before; i++)
		p->unavailable.at[i] = before[i];
	for (size_t i = 0; i < n; i++) {
		what = kineto_unavailable(k, i, &why);
		p->unavailable.at[n_before + i] = (struct report_gap){ arena_text(&p->arena, what),
								       arena_text(&p->arena, why) };
	}
}

static void describe_run(struct report_run *run, const struct kineto *k, const char *path,
			 struct arena *a)
{
	const char *host = tables_fact(kineto_run(k)->tables, "host");
	time_t began = (time_t)(kineto_began_ns(k) / 1000000000);
	char start[64];
	struct tm broken;
	run->host = arena_text(a, host ? host : "");
	list_make(a, &run->command, 1);
	run->command.at[0] = arena_text(a, path_base(path));
	if (began && gmtime_r(&began, &broken) &&
	    strftime(start, sizeof(start), "%Y-%m-%dT%H:%M:%SZ", &broken))
		run->start = arena_text(a, start);
}

struct report_process *foreign_report(const char *path, struct report_run *run, struct arena *arena,
				      struct err *e)
{
	struct foreign *f;
	if (foreign_open(&f, path, NULL, e))
		return NULL;
	struct report_process *p = report_process_new();
	foreign_describe(f, &p->facts, &p->arena);
	analysis_report(f->analysis, p);
	analysis_report_views(f->analysis, p);
	add_unavailable(p, f->trace);
	if (run)
		describe_run(run, f->trace, path, arena);
	foreign_close(f);
	return p;
}
