/* Reads the two sides of a comparison, and chooses their processes. See diff.h. */
#include "export/diff.h"

#include "export/foreign.h"
#include "export/report_file.h"
#include "export/report_steps.h"
#include "export/report_text.h"
#include "export/report_words.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

/* ---- One side ---- */

static int64_t seconds_of(const char *start)
{
	struct tm broken = { 0 };
	return *start && strptime(start, "%Y-%m-%dT%H:%M:%S", &broken) ? (int64_t)timegm(&broken)
								       : 0;
}

int diff_side_open(struct diff_side *s, const char *path, struct err *e)
{
	struct stat status;
	memset(s, 0, sizeof(*s));
	s->path = path;
	int error = report_make_any(path, NULL, &s->made, e);
	if (error)
		return error;
	s->is_opened = true;
	s->is_trace = foreign_is_at(path);
	s->began_s = seconds_of(s->made.report.run.start);
	s->is_stored = !s->is_trace && !stat(path, &status) && S_ISDIR(status.st_mode) &&
		       report_load(&s->stored, path);
	return 0;
}

void diff_side_free(struct diff_side *s)
{
	if (!s->is_opened)
		return;
	report_made_free(&s->made);
	if (s->is_stored)
		report_free(&s->stored);
	vec_free(&s->compared);
}

/* ---- Texts of lines ---- */

#define FIND_TEXT(rows, file_, line_)                                               \
	for (size_t i_ = 0; i_ < (rows).n; i_++)                                    \
		if ((rows).at[i_].place.line == (line_) && *(rows).at[i_].source && \
		    !strcmp((rows).at[i_].place.file, (file_)))                     \
			return (rows).at[i_].source;

/* Returns the text that the report has of a line; "": not known. */
static const char *text_in(const struct report *r, const struct report_place *at)
{
	for (size_t i = 0; i < r->processes.n; i++) {
		const struct report_process *p = r->processes.at[i];
		FIND_TEXT(p->lines, at->file, at->line)
		FIND_TEXT(p->syncs, at->file, at->line)
		FIND_TEXT(p->host, at->file, at->line)
		FIND_TEXT(p->collectives, at->file, at->line)
	}
	return "";
}

/* Returns whether the file is as it was when the run began. */
static bool is_as_it_was(const char *file, const struct diff_side *s)
{
	struct stat status;
	return *file == '/' && s->began_s && !stat(file, &status) && status.st_mtime <= s->began_s;
}

const char *diff_text_of_line(const struct diff_side *s, const struct report_place *at)
{
	if (!*at->file || at->line < 0)
		return "";
	if (s->is_stored)
		return text_in(&s->stored, at);
	return is_as_it_was(at->file, s) ? text_in(&s->made.report, at) : "";
}

/* ---- Which processes are compared ---- */

static bool has_figures(const struct report_process *p)
{
	return report_step_ms(p) > 0 || p->gpu.n || p->calls.n;
}

/* Returns the first process of a rank that has figures, or NULL. */
static const struct report_process *of_rank(const struct report *r, int64_t rank)
{
	for (size_t i = 0; i < r->processes.n; i++)
		if (r->processes.at[i]->rank == rank && has_figures(r->processes.at[i]))
			return r->processes.at[i];
	return NULL;
}

static void add_common_ranks(struct diff_side sides[DIFF_SIDES])
{
	const struct report *a = &sides[DIFF_A].made.report, *b = &sides[DIFF_B].made.report;
	for (size_t i = 0; i < a->processes.n; i++) {
		int64_t rank = a->processes.at[i]->rank;
		const struct report_process *of_a = rank >= 0 ? of_rank(a, rank) : NULL,
					    *of_b = rank >= 0 ? of_rank(b, rank) : NULL;
		if (!of_b || of_a != a->processes.at[i])
			continue;
		vec_push(&sides[DIFF_A].compared, of_a);
		vec_push(&sides[DIFF_B].compared, of_b);
	}
}

/* Says why there is nothing to compare: the first reason that the report gives. */
static int refuse(const struct diff_side *s, struct err *e)
{
	const struct report *r = &s->made.report;
	for (size_t i = 0; i < r->processes.n; i++)
		if (r->processes.at[i]->unavailable.n)
			return err_set(e, -EINVAL, "%.100s: nothing to compare: %.120s", s->path,
				       r->processes.at[i]->unavailable.at[0].why);
	return err_set(e, -EINVAL, "%.180s: nothing to compare", s->path);
}

static bool has_line(const struct report_process *p)
{
	for (size_t i = 0; i < p->lines.n; i++)
		if (*p->lines.at[i].place.file && p->lines.at[i].place.line >= 0)
			return true;
	return false;
}

static void finish(struct diff_side *s)
{
	s->has_gpu = true;
	for (size_t i = 0; i < s->compared.n; i++) {
		const struct report_process *p = s->compared.at[i];
		s->has_gpu &= p->gpu.n > 0;
		s->has_lines |= has_line(p);
		if (!s->slowest || report_step_ms(p) > report_step_ms(s->slowest))
			s->slowest = p;
	}
}

/* Figures per step can't be compared with those of a whole run, or of a slice of time. */
static int refuse_units(const struct diff_side sides[DIFF_SIDES], struct err *e)
{
	static const char *const units[] = { "the whole run", "slices of time", "steps" };
	int of[DIFF_SIDES];
	for (int i = 0; i < DIFF_SIDES; i++)
		of[i] = report_is_unit(sides[i].slowest) ? 0 : 1 + diff_has_steps(&sides[i]);
	return of[DIFF_A] == of[DIFF_B]
		       ? 0
		       : err_set(e, -EINVAL,
				 "cannot be compared: the figures of A are of %s, those of B of %s",
				 units[of[DIFF_A]], units[of[DIFF_B]]);
}

int diff_choose(struct diff_side sides[DIFF_SIDES], struct err *e)
{
	add_common_ranks(sides);
	for (int i = 0; i < DIFF_SIDES; i++) {
		struct diff_side *s = &sides[i];
		const struct report_process *main = report_main_process(&s->made.report);
		if (!s->compared.n && main)
			vec_push(&s->compared, main);
		if (!s->compared.n)
			return refuse(s, e);
		finish(s);
	}
	return refuse_units(sides, e);
}
