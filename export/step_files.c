/* See step_files.h. */
#include "export/step_files.h"

#include "export/step_file.h"

#include <ctype.h>
#include <errno.h>

/* ---- The user's choice ---- */

static bool read_number(const char **text, uint64_t *to)
{
	char *end;
	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*to = strtoull(*text, &end, 10);
	*text = end;
	return !errno;
}

int step_choice_parse(struct step_choice *to, const char *text, struct err *e)
{
	const char *at = text;
	bool is_good = read_number(&at, &to->first);
	to->last = to->first;
	if (is_good && *at == '-') {
		at++;
		is_good = read_number(&at, &to->last);
	}
	to->is_set = true;
	if (is_good && !*at && to->first <= to->last)
		return 0;
	return err_set(e, -EINVAL, "'%.40s' is not a range of steps such as 10-20", text);
}

/* ---- Paths ---- */

/* Writes the path of a file below the folder. `suffix`: that of the format, or one of several. */
static void relative_path(const struct step_files *f, int format, const char *suffix, char *to,
			  size_t bytes)
{
	const struct exporter *x = f->formats[format];
	const struct step_files_open *open = &f->open[format];
	const char *folder = f->is_plain ? "" : x->folder, *slash = f->is_plain ? "" : "/";
	char steps[48];
	if (*open->name) {
		snprintf(to, bytes, "%s%s%s", folder, slash, open->name);
		return;
	}
	if (open->first == open->last)
		snprintf(steps, sizeof(steps), "step-%llu", (unsigned long long)open->first);
	else
		snprintf(steps, sizeof(steps), "steps-%llu-%llu", (unsigned long long)open->first,
			 (unsigned long long)open->last);
	snprintf(to, bytes, "%s%s%s/%s%s", folder, slash, f->name, steps, suffix);
}

static int whole_path(const struct step_files *f, int format, char *to, size_t bytes, struct err *e)
{
	char relative[PATH_MAX];
	relative_path(f, format, f->formats[format]->suffix, relative, sizeof(relative));
	if (snprintf(to, bytes, "%s/%s", f->folder, relative) >= (int)bytes)
		return err_set(e, -ENAMETOOLONG, "%.100s...: the path is too long", f->folder);
	return 0;
}

/* ---- Files ---- */

static void tell_written(struct step_files *f, int format, bool is_empty)
{
	const struct exporter *x = f->formats[format];
	const char *const one[] = { x->suffix, NULL }, *const *suffixes = x->suffixes ? x->suffixes
										      : one;
	char relative[PATH_MAX];
	for (size_t i = 0; suffixes[i]; i++) {
		relative_path(f, format, suffixes[i], relative, sizeof(relative));
		f->written(f->context, format, relative, is_empty);
	}
}

static void close_file(struct step_files *f, int format)
{
	struct step_files_open *open = &f->open[format];
	char path[PATH_MAX];
	struct err e;
	if (!open->file)
		return;
	int error = whole_path(f, format, path, sizeof(path), &e);
	if (error)
		step_file_abandon(open->file);
	else
		error = step_file_close(open->file, path, &e);
	open->file = NULL;
	if (error)
		f->failed(f->context, &e);
	else
		tell_written(f, format, false);
}

static void open_file(struct step_files *f, int format, const struct model_step *m)
{
	const struct exporter *x = f->formats[format];
	struct step_files_open *open = &f->open[format];
	char path[PATH_MAX];
	struct err e;
	open->first = open->last = m->number;
	open->name[0] = 0;
	if (x->name_file)
		x->name_file(m, open->name, sizeof(open->name));
	if (whole_path(f, format, path, sizeof(path), &e) ||
	    step_file_open(&open->file, x, path, &e))
		f->failed(f->context, &e);
}

/* Writes a file that contains one step. */
static void write_step(struct step_files *f, int format, const struct analyzed_step *step)
{
	const struct exporter *x = f->formats[format];
	struct step_files_open *open = &f->open[format];
	char path[PATH_MAX];
	struct err e;
	open->first = open->last = step->model->number;
	open->name[0] = 0;
	if (whole_path(f, format, path, sizeof(path), &e) || x->write_step(step, path, &e))
		f->failed(f->context, &e);
	else
		tell_written(f, format, x->is_empty && x->is_empty(step->model));
}

/* Returns whether the format's open file takes more steps after this one. */
static bool takes_more(const struct step_files *f, int format, const struct model_step *m)
{
	if (f->choice.is_set)
		return m->number < f->choice.last;
	return f->formats[format]->has_windows && m->action != SCHED_RECORD_AND_SAVE;
}

static void add_to(struct step_files *f, int format, const struct analyzed_step *step)
{
	const struct model_step *m = step->model;
	struct step_files_open *open = &f->open[format];
	if (f->formats[format]->write_step) {
		write_step(f, format, step);
		return;
	}
	if (open->file && !f->choice.is_set && m->number != open->last + 1)
		close_file(f, format);
	if (!open->file)
		open_file(f, format, m);
	if (!open->file)
		return;
	step_file_add(open->file, step);
	open->last = m->number;
	if (!takes_more(f, format, m))
		close_file(f, format);
}

bool step_files_add(struct step_files *f, const struct analyzed_step *step)
{
	if (!step_choice_has(&f->choice, step->model->number))
		return false;
	for (int i = 0; i < f->n_formats; i++)
		add_to(f, i, step);
	return f->n_formats;
}

void step_files_end(struct step_files *f)
{
	for (int i = 0; i < f->n_formats; i++)
		close_file(f, i);
}

void step_files_abandon(struct step_files *f)
{
	for (int i = 0; i < f->n_formats; i++) {
		step_file_abandon(f->open[i].file);
		f->open[i].file = NULL;
	}
}
