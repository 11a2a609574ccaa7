/* Computes the differences of two runs. See diff.h. */
#include "export/diff.h"

#include "export/report_words.h"

#include <math.h>
#include <stdlib.h>

/* A change of less is shown as 0.000. */
#define LEAST_MS REPORT_LEAST_MS

static void not_compared(struct diff *d, const char *what, const char *why)
{
	vec_push(&d->not_compared, (struct report_gap){ what, why });
}

/* ---- Rows ---- */

/* One list of both sides. */
struct comparing {
	struct diff *diff;
	const struct diff_kind *kind;
	const struct diff_side *sides;
	diff_items items[DIFF_SIDES];
	struct diff_matches matches;
};

/* Returns the rows of one side as one row. */
static struct diff_item sum_of(const struct comparing *c, const struct diff_match *m, int side)
{
	struct diff_item sum = { 0 };
	for (size_t i = 0; i < m->of[side].n; i++) {
		const struct diff_item *item = &c->items[side].at[m->of[side].at[i]];
		sum.per_step += item->per_step;
		sum.bytes += item->bytes;
		for (int k = 0; k < DIFF_MEASURES; k++)
			sum.ms[k] += item->ms[k];
	}
	return sum;
}

static const struct diff_item *first_of(const struct comparing *c, const struct diff_match *m)
{
	int side = m->of[DIFF_B].n ? DIFF_B : DIFF_A;
	return &c->items[side].at[m->of[side].at[0]];
}

static struct field_range pair_of(double a, double b, bool is_known)
{
	return (struct field_range){ is_known ? a : NAN, is_known ? b : NAN };
}

static double change_of(const struct field_range *r)
{
	return isfinite(r->low) ? r->high - r->low : 0;
}

static double larger(double a, double b)
{
	return fabs(b) > fabs(a) ? b : a;
}

static const char *state_of(const struct diff_match *m, double change_ms)
{
	if (!m->of[DIFF_A].n)
		return "new";
	if (!m->of[DIFF_B].n)
		return "gone";
	return change_ms >= LEAST_MS ? "slower" : change_ms <= -LEAST_MS ? "faster" : "same";
}

static struct diff_row row_of(const struct comparing *c, const struct diff_match *m)
{
	struct diff_item a = sum_of(c, m, DIFF_A), b = sum_of(c, m, DIFF_B);
	const struct diff_item *first = first_of(c, m);
	bool has_gpu = c->sides[DIFF_A].has_gpu && c->sides[DIFF_B].has_gpu,
	     is_several = m->of[DIFF_A].n > 1 || m->of[DIFF_B].n > 1,
	     is_pair = m->of[DIFF_A].n && m->of[DIFF_B].n;
	unsigned measures = c->kind->measures;
	struct diff_row row = {
		.name = first->name,
		.place = first->place,
		.source = first->source,
		.line_before = -1,
		.n_lines_a = is_several ? (int64_t)m->of[DIFF_A].n : -1,
		.n_lines_b = is_several ? (int64_t)m->of[DIFF_B].n : -1,
		.per_step = pair_of(a.per_step, b.per_step, a.per_step > 0 || b.per_step > 0),
		.gpu_ms = pair_of(a.ms[DIFF_GPU_MS], b.ms[DIFF_GPU_MS],
				  has_gpu && measures & 1u << DIFF_GPU_MS),
		.host_ms = pair_of(a.ms[DIFF_HOST_MS], b.ms[DIFF_HOST_MS],
				   measures & 1u << DIFF_HOST_MS),
		.idle_ms = pair_of(a.ms[DIFF_IDLE_MS], b.ms[DIFF_IDLE_MS],
				   measures & 1u << DIFF_IDLE_MS),
		.bytes = pair_of(a.bytes, b.bytes, a.bytes > 0 || b.bytes > 0),
	};
	row.place.file = report_short_path(
		row.place.file, c->sides[m->of[DIFF_B].n ? DIFF_B : DIFF_A].made.report.run.cwd);
	if (is_pair && !is_several) {
		int64_t before = c->items[DIFF_A].at[m->of[DIFF_A].at[0]].place.line;
		row.line_before = before == row.place.line ? -1 : before;
	}
	row.change_ms = larger(larger(change_of(&row.gpu_ms), change_of(&row.host_ms)),
			       change_of(&row.idle_ms));
	row.state = state_of(m, row.change_ms);
	return row;
}

static int by_change(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	double of_x = fabs(x->change_ms), of_y = fabs(y->change_ms);
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	int by_name = strcmp(x->name, y->name), by_file = strcmp(x->place.file, y->place.file);
	return by_name	 ? by_name
	       : by_file ? by_file
			 : (x->place.line > y->place.line) - (x->place.line < y->place.line);
}

/* ---- Lists ---- */

/* Returns the reason that a side gives for the lack of something whose name has `word` in it. */
static const char *reason_of(const struct diff_side *s, const char *word)
{
	const struct report_process *p = s->slowest;
	for (size_t i = 0; i < p->unavailable.n; i++)
		if (strstr(p->unavailable.at[i].what, word))
			return p->unavailable.at[i].why;
	return "";
}

static const char *lacks(struct diff *d, int side, const char *what, const char *why)
{
	return diff_words(d, "%s has no %s%s%s", side == DIFF_A ? "A" : "B", what, *why ? ": " : "",
			  why);
}

/* Returns why the list can't be compared, or NULL. */
static const char *why_not(const struct comparing *c)
{
	unsigned flags = c->kind->flags;
	for (int i = 0; i < DIFF_SIDES; i++) {
		const struct diff_side *s = &c->sides[i];
		if (flags & DIFF_NEEDS_GPU && !s->has_gpu)
			return lacks(c->diff, i, "GPU times", reason_of(s, "steps"));
		if (flags & DIFF_IS_LINES && !s->has_lines && c->items[!i].n)
			return lacks(c->diff, i, "source lines", reason_of(s, "lines"));
		if (flags & DIFF_IS_RECORDED && !c->items[i].n && c->items[!i].n)
			return lacks(c->diff, i, "such rows", reason_of(s, c->kind->field));
	}
	return NULL;
}

/* Returns whether the row is shown. What only one of two different tools has may only be recorded
 * differently. */
static bool is_shown(const struct comparing *c, const struct diff_match *m)
{
	return !(c->kind->flags & DIFF_BY_TOOL) || !diff_is_mixed(c->sides) ||
	       (m->of[DIFF_A].n && m->of[DIFF_B].n);
}

static void fill_rows(struct comparing *c, struct diff_list *to)
{
	size_t n_left_out = 0;
	list_make(&c->diff->arena, &to->rows, c->matches.at.n);
	to->rows.n = 0;
	for (size_t i = 0; i < c->matches.at.n; i++) {
		const struct diff_match *m = &c->matches.at.at[i];
		if (is_shown(c, m))
			to->rows.at[to->rows.n++] = row_of(c, m);
		else
			n_left_out++;
	}
	if (to->rows.n)
		qsort(to->rows.at, to->rows.n, sizeof(*to->rows.at), by_change);
	if (n_left_out)
		not_compared(c->diff, c->kind->title,
			     diff_words(c->diff,
					"%zu row%s that only A or only B has: profrun and "
					"torch.profiler record them differently",
					n_left_out, n_left_out > 1 ? "s" : ""));
}

static void compare_list(struct diff *d, const struct diff_side sides[DIFF_SIDES],
			 enum diff_list_id list)
{
	struct comparing c = { .diff = d, .kind = &diff_kinds[list], .sides = sides };
	const char *const cwd[] = { sides[DIFF_A].made.report.run.cwd,
				    sides[DIFF_B].made.report.run.cwd };
	for (int i = 0; i < DIFF_SIDES; i++)
		diff_items_read(&c.items[i], &sides[i], list, diff_has_places(sides), &d->texts);
	const char *why = why_not(&c);
	if (why) {
		not_compared(d, c.kind->title, why);
	} else {
		diff_match(&c.matches, c.items, cwd);
		fill_rows(&c, &d->lists[list]);
	}
	diff_matches_free(&c.matches);
	for (int i = 0; i < DIFF_SIDES; i++)
		vec_free(&c.items[i]);
}

/* ---- Totals ---- */

static double mean_of(const struct diff_side *s, size_t offset)
{
	double sum = 0;
	for (size_t i = 0; i < s->compared.n; i++)
		for (size_t k = 0; k < s->compared.at[i]->gpu.n; k++) {
			double value;
			memcpy(&value, (const char *)&s->compared.at[i]->gpu.at[k] + offset,
			       sizeof(value));
			sum += value;
		}
	return sum / (double)s->compared.n;
}

static struct field_range pair_of_gpus(const struct diff_side sides[DIFF_SIDES], size_t offset)
{
	return pair_of(mean_of(&sides[DIFF_A], offset), mean_of(&sides[DIFF_B], offset),
		       sides[DIFF_A].has_gpu && sides[DIFF_B].has_gpu);
}

/* Returns the largest peak of the compared processes; 0: not known. */
static double peak_of(const struct diff_side *s, bool is_allocators)
{
	double most = 0;
	for (size_t i = 0; i < s->compared.n; i++) {
		const struct report_memory *m = &s->compared.at[i]->memory;
		if (!is_allocators)
			most = fmax(most, (double)m->device_peak_bytes);
		else if (m->allocator)
			most = fmax(most, (double)m->allocator->peak_bytes);
	}
	return most;
}

static struct field_range pair_of_peaks(const struct diff_side sides[DIFF_SIDES],
					bool is_allocators)
{
	double a = peak_of(&sides[DIFF_A], is_allocators),
	       b = peak_of(&sides[DIFF_B], is_allocators);
	return pair_of(a, b, a > 0 && b > 0);
}

static void fill_totals(struct diff *d, const struct diff_side sides[DIFF_SIDES])
{
	d->busy_ms = pair_of_gpus(sides, offsetof(struct report_gpu, busy_ms));
	d->idle_ms = pair_of_gpus(sides, offsetof(struct report_gpu, idle_ms));
	d->kernels = pair_of_gpus(sides, offsetof(struct report_gpu, kernels));
	d->device_peak_bytes = pair_of_peaks(sides, false);
	d->allocator_peak_bytes = pair_of_peaks(sides, true);
	if (!isfinite(d->device_peak_bytes.low) && !isfinite(d->allocator_peak_bytes.low))
		not_compared(d, "Memory peak",
			     peak_of(&sides[DIFF_A], false) > 0 || peak_of(&sides[DIFF_A], true) > 0
				     ? "B does not have it"
			     : peak_of(&sides[DIFF_B], false) > 0 ||
					     peak_of(&sides[DIFF_B], true) > 0
				     ? "A does not have it"
				     : "neither has it");
}

static void clear_totals(struct diff *d)
{
	struct field_range none = { NAN, NAN };
	d->busy_ms = d->idle_ms = d->kernels = none;
	d->device_peak_bytes = d->allocator_peak_bytes = none;
	for (size_t i = 0; i < d->ranks.n; i++)
		d->ranks.at[i].cause = "";
}

/* Stores the idle cause that changed most on a rank. */
static void fill_cause(struct diff_rank *to, const struct report_process *a,
		       const struct report_process *b)
{
	struct diff_side sides[DIFF_SIDES] = { 0 };
	struct diff d = { 0 };
	vec_push(&sides[DIFF_A].compared, a);
	vec_push(&sides[DIFF_B].compared, b);
	for (int i = 0; i < DIFF_SIDES; i++) {
		sides[i].has_gpu = sides[i].compared.at[0]->gpu.n > 0;
		sides[i].slowest = sides[i].compared.at[0];
	}
	compare_list(&d, sides, DIFF_IDLE);
	to->cause = "";
	if (d.lists[DIFF_IDLE].rows.n) { /* the names of causes belong to the report */
		to->cause = d.lists[DIFF_IDLE].rows.at[0].name;
		to->cause_ms = d.lists[DIFF_IDLE].rows.at[0].change_ms;
	}
	diff_free(&d);
	for (int i = 0; i < DIFF_SIDES; i++)
		vec_free(&sides[i].compared);
}

static void fill_causes(struct diff *d, const struct diff_side sides[DIFF_SIDES])
{
	for (size_t i = 0, k = 0; i < sides[DIFF_A].compared.n && k < d->ranks.n; i++)
		if (sides[DIFF_A].compared.at[i]->rank == d->ranks.at[k].rank)
			fill_cause(&d->ranks.at[k++], sides[DIFF_A].compared.at[i],
				   sides[DIFF_B].compared.at[i]);
}

void diff_make(struct diff *to, const struct diff_side sides[DIFF_SIDES])
{
	bool is_whole_run = diff_is_whole_run(&sides[DIFF_A]);
	memset(to, 0, sizeof(*to));
	diff_steps(to, sides);
	if (is_whole_run == diff_is_whole_run(&sides[DIFF_B])) {
		fill_totals(to, sides);
		for (int i = 0; i < DIFF_LISTS_N; i++)
			compare_list(to, sides, (enum diff_list_id)i);
		fill_causes(to, sides);
	} else {
		clear_totals(to);
		not_compared(to, "All lists",
			     diff_words(to,
					"no step of %s was recorded, so its figures are of the "
					"whole run",
					is_whole_run ? "A" : "B"));
	}
	diff_notes(to, sides);
}

void diff_free(struct diff *d)
{
	vec_free(&d->not_compared);
	vec_free(&d->notes);
	arena_free(&d->arena);
	strtab_free(&d->texts);
}
