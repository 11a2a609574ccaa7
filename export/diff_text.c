/* Prints the comparison of two runs as text. See diff.h. */
#include "export/diff.h"

#include "export/kernel_words.h"
#include "export/report_words.h"
#include "export/textout.h"

#include <math.h>

enum { MS_BYTES = 32, NAME_BYTES = 1000, NOTE_LINES = 4 };

/* ---- The first lines ---- */

/* Writes "+1.230" or "-1.230". Returns `to`. */
static char *signed_ms(char *to, size_t bytes, double ms)
{
	char size[MS_BYTES];
	snprintf(to, bytes, "%s%s", ms < 0 ? "-" : "+", report_ms(size, sizeof(size), fabs(ms)));
	return to;
}

static void say_source(struct textout *o, const struct diff_source *s, const char *lead)
{
	text_say(o, lead, "%s: %s (%s; %s)", s->path, s->command, s->process, s->tool);
	text_say(o, REPORT_UNDER, "%s", s->steps);
}

/* Writes " (95 % interval +1.20 to +1.40 ms)", or why there is none. */
static char *interval(char *to, size_t bytes, const struct diff_step *s)
{
	char low[MS_BYTES], high[MS_BYTES];
	if (!isfinite(s->interval_ms.low))
		snprintf(to, bytes, "no interval");
	else
		snprintf(to, bytes, "95 %% interval %s to %s ms",
			 signed_ms(low, sizeof(low), s->interval_ms.low),
			 signed_ms(high, sizeof(high), s->interval_ms.high));
	return to;
}

static bool has_zero(const struct diff_step *s)
{
	return s->interval_ms.low <= 0 && s->interval_ms.high >= 0;
}

static void say_statistic(struct textout *o, const struct diff_step *s, const char *lead,
			  const char *of)
{
	char a[MS_BYTES], b[MS_BYTES], change[MS_BYTES], range[120];
	const char *what = has_zero(s)	      ? "no difference beyond the noise"
			   : s->change_ms > 0 ? "slower"
					      : "faster";
	if (!isfinite(s->interval_ms.low))
		what = "not known whether that is more than noise";
	text_say(o, lead, "%s -> %s ms (%s): %s; %s ms (%+.1f %%), %s",
		 report_ms(a, sizeof(a), s->a_ms), report_ms(b, sizeof(b), s->b_ms), of, what,
		 signed_ms(change, sizeof(change), s->change_ms), s->change_pct,
		 interval(range, sizeof(range), s));
}

static void say_step(struct textout *o, const struct diff *d)
{
	char of[100];
	if (!d->median) {
		text_say(o, "step     ", "cannot be compared: %s", d->verdict_why);
		return;
	}
	snprintf(of, sizeof(of), "median of %lld and %lld steps",
		 (long long)d->source[DIFF_A].n_steps, (long long)d->source[DIFF_B].n_steps);
	say_statistic(o, d->median, "step     ", of);
	say_statistic(o, d->mean, REPORT_UNDER, "mean");
	if (isfinite(d->median->interval_ms.low))
		text_line(o, TEXT_DIM,
			  REPORT_UNDER "(the intervals cover these steps; equal runs may differ by "
				       "more)");
	if (*d->verdict_why)
		text_say(o, REPORT_UNDER, "%s", d->verdict_why);
	if (!strcmp(d->verdict, "mixed"))
		text_say(o, REPORT_UNDER,
			 "most steps and their mean changed in opposite "
			 "directions");
}

static void say_totals(struct textout *o, const struct diff *d)
{
	char a[MS_BYTES], b[MS_BYTES], c[MS_BYTES], e[MS_BYTES];
	if (isfinite(d->busy_ms.low))
		text_say(o, "GPU      ", "busy %s -> %s ms, idle %s -> %s ms, %.4g -> %.4g kernels",
			 report_ms(a, sizeof(a), d->busy_ms.low),
			 report_ms(b, sizeof(b), d->busy_ms.high),
			 report_ms(c, sizeof(c), d->idle_ms.low),
			 report_ms(e, sizeof(e), d->idle_ms.high), d->kernels.low, d->kernels.high);
	if (isfinite(d->device_peak_bytes.low))
		text_say(o, "memory   ", "peak of the device %s -> %s",
			 report_bytes(a, sizeof(a), d->device_peak_bytes.low),
			 report_bytes(b, sizeof(b), d->device_peak_bytes.high));
	if (isfinite(d->allocator_peak_bytes.low))
		text_say(o, "memory   ", "peak of PyTorch's blocks %s -> %s",
			 report_bytes(a, sizeof(a), d->allocator_peak_bytes.low),
			 report_bytes(b, sizeof(b), d->allocator_peak_bytes.high));
	if (d->recorded)
		text_say(o, REPORT_UNDER,
			 "the figures below and of the GPU are means of the recorded steps: %s -> "
			 "%s ms",
			 report_ms(a, sizeof(a), d->recorded->a_ms),
			 report_ms(b, sizeof(b), d->recorded->b_ms));
}

/* ---- Ranks ---- */

static void say_ranks(struct textout *o, const struct diff *d)
{
	static const struct text_column columns[] = {
		{ "rank", COLUMN_NUMBER },   { "change", COLUMN_NUMBER },
		{ "step A", COLUMN_NUMBER }, { "step B", COLUMN_NUMBER },
		{ "busy A", COLUMN_NUMBER }, { "busy B", COLUMN_NUMBER },
		{ "idle", COLUMN_NUMBER },   { "idle time that changed most", COLUMN_TEXT },
	};
	struct text_table t;
	char ms[MS_BYTES];
	if (!d->ranks.n)
		return;
	text_line(o, TEXT_PLAIN, "%s", "");
	text_line(o, TEXT_BOLD, "All %zu ranks, ms per step", d->ranks.n);
	table_start(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < d->ranks.n; i++) {
		const struct diff_rank *r = &d->ranks.at[i];
		table_cell(&t, "%lld", (long long)r->rank);
		table_cell(&t, "%s", signed_ms(ms, sizeof(ms), r->step.change_ms));
		table_cell(&t, "%s", report_ms(ms, sizeof(ms), r->step.a_ms));
		table_cell(&t, "%s", report_ms(ms, sizeof(ms), r->step.b_ms));
		table_cell(&t, isfinite(r->busy_pct.low) ? "%.0f %%" : "-", r->busy_pct.low);
		table_cell(&t, isfinite(r->busy_pct.high) ? "%.0f %%" : "-", r->busy_pct.high);
		table_cell(&t, "%s", signed_ms(ms, sizeof(ms), r->cause_ms));
		table_cell(&t, "%s", report_cause_noun(r->cause));
	}
	table_end(&t, o);
}

/* ---- Lists ---- */

static bool is_changed(const struct diff_row *r)
{
	return fabs(r->change_ms) >= REPORT_LEAST_MS;
}

static const struct field_range *measure_of(const struct diff_row *r, unsigned measure)
{
	return measure == DIFF_GPU_MS	 ? &r->gpu_ms
	       : measure == DIFF_HOST_MS ? &r->host_ms
					 : &r->idle_ms;
}

/* Adds the two columns of a measure. */
static void add_columns(struct text_column *columns, unsigned *n, const char *a, const char *b)
{
	columns[(*n)++] = (struct text_column){ a, COLUMN_NUMBER };
	columns[(*n)++] = (struct text_column){ b, COLUMN_NUMBER };
}

/* Writes "train.py:42 (was :40)  cudaMemcpyAsync  text of the line". */
static void write_place(char *to, size_t bytes, const struct diff_row *r)
{
	report_place(to, bytes, &r->place, NULL);
	if (r->line_before >= 0)
		text_append(to, bytes, " (was :%lld)", (long long)r->line_before);
	if (r->n_lines_a >= 0)
		text_append(to, bytes, " (%lld -> %lld lines)", (long long)r->n_lines_a,
			    (long long)r->n_lines_b);
	if (*r->name)
		text_append(to, bytes, "  %s", r->name);
	if (*r->source)
		text_append(to, bytes, "  %s", r->source);
}

static void write_name(char *to, size_t bytes, const struct diff_row *r, enum diff_list_id list)
{
	if (*r->place.file || *r->place.function)
		write_place(to, bytes, r);
	else if (list == DIFF_KERNELS)
		kernel_short(to, bytes, r->name);
	else
		snprintf(to, bytes, "%s", list == DIFF_IDLE ? report_cause_noun(r->name) : r->name);
}

/* The columns of one list. */
struct table {
	struct text_table text;
	struct text_column columns[TEXT_TABLE_COLUMNS];
	unsigned n_columns;
	bool has_measure[DIFF_MEASURES], has_count;
	enum diff_list_id list;
};

static void start_table(struct table *t, enum diff_list_id list, const struct diff_list *rows)
{
	static const char *const headings[][2] = {
		[DIFF_GPU_MS] = { "GPU A", "GPU B" },
		[DIFF_HOST_MS] = { "CPU A", "CPU B" },
		[DIFF_IDLE_MS] = { "idle A", "idle B" },
	};
	*t = (struct table){ .list = list };
	t->columns[t->n_columns++] = (struct text_column){ "change", COLUMN_NUMBER };
	t->columns[t->n_columns++] = (struct text_column){ "", COLUMN_WORD };
	for (size_t i = 0; i < rows->rows.n; i++) {
		for (unsigned k = 0; k < DIFF_MEASURES; k++)
			t->has_measure[k] |= isfinite(measure_of(&rows->rows.at[i], k)->low);
		t->has_count |= isfinite(rows->rows.at[i].per_step.low);
	}
	for (unsigned k = 0; k < DIFF_MEASURES; k++)
		if (t->has_measure[k])
			add_columns(t->columns, &t->n_columns, headings[k][0], headings[k][1]);
	if (t->has_count)
		add_columns(t->columns, &t->n_columns, "n A", "n B");
	t->columns[t->n_columns++] = (struct text_column){
		"", list == DIFF_KERNELS || list == DIFF_OPERATORS ? COLUMN_NAME : COLUMN_TEXT
	};
	table_start(&t->text, t->columns, t->n_columns);
}

static void add_row(struct table *t, const struct diff_row *r)
{
	char ms[MS_BYTES], name[NAME_BYTES];
	bool is_one_sided = !strcmp(r->state, "new") || !strcmp(r->state, "gone");
	table_cell(&t->text, "%s", signed_ms(ms, sizeof(ms), r->change_ms));
	table_cell(&t->text, "%s", is_one_sided ? r->state : "");
	for (unsigned k = 0; k < DIFF_MEASURES; k++) {
		const struct field_range *m = measure_of(r, k);
		if (!t->has_measure[k])
			continue;
		table_cell(&t->text, "%s", report_ms_or_dash(ms, sizeof(ms), m->low));
		table_cell(&t->text, "%s", report_ms_or_dash(ms, sizeof(ms), m->high));
	}
	if (t->has_count) {
		table_cell(&t->text, "%.4g", report_or_zero(r->per_step.low));
		table_cell(&t->text, "%.4g", report_or_zero(r->per_step.high));
	}
	write_name(name, sizeof(name), r, t->list);
	table_cell(&t->text, "%s", name);
}

/* Prints the rows that changed; how many did not. */
static void say_list(struct textout *o, const struct diff *d, enum diff_list_id list, unsigned top)
{
	struct table t;
	const struct diff_list *all = &d->lists[list];
	size_t n = 0, n_shown;
	while (n < all->rows.n && is_changed(&all->rows.at[n]))
		n++;
	if (!n)
		return;
	text_line(o, TEXT_PLAIN, "%s", "");
	text_line(o, TEXT_BOLD, "%s, ms per %s", diff_kinds[list].title, d->unit);
	start_table(&t, list, all);
	n_shown = n < top ? n : top;
	for (size_t i = 0; i < n_shown; i++)
		add_row(&t, &all->rows.at[i]);
	table_end(&t.text, o);
	if (n > n_shown || all->rows.n > n)
		text_line(o, TEXT_DIM, "  %zu more changed, %zu did not", n - n_shown,
			  all->rows.n - n);
}

static void say_unchanged(struct textout *o, const struct diff *d)
{
	char names[400] = "";
	for (int i = 0; i < DIFF_LISTS_N; i++)
		if (d->lists[i].rows.n && !is_changed(&d->lists[i].rows.at[0]))
			text_append(names, sizeof(names), "%s%s", *names ? ", " : "",
				    diff_kinds[i].field);
	if (*names) {
		text_line(o, TEXT_PLAIN, "%s", "");
		text_say(o, "Nothing changed in: ", "%s", names);
	}
}

static void say_not_compared(struct textout *o, const struct diff *d)
{
	char text[600];
	if (!d->not_compared.n)
		return;
	text_line(o, TEXT_PLAIN, "%s", "");
	text_line(o, TEXT_BOLD, "Not compared");
	for (size_t i = 0; i < d->not_compared.n; i++) {
		const struct report_gap *gap = &d->not_compared.at[i];
		snprintf(text, sizeof(text), "%s: %s", gap->what, gap->why);
		text_wrap(o, TEXT_PLAIN, "  - ", text, NOTE_LINES);
	}
}

static void say_gate(struct textout *o, const struct diff_gate *g)
{
	if (g)
		text_say(o, "gate     ", "%s: at most %g %% slower was asked for%s%s", g->result,
			 g->pct, *g->why ? "; " : "", g->why);
}

void diff_text(struct textout *o, const struct diff *d, unsigned top)
{
	say_source(o, &d->source[DIFF_A], "A        ");
	say_source(o, &d->source[DIFF_B], "B        ");
	say_step(o, d);
	say_gate(o, d->gate);
	say_totals(o, d);
	for (size_t i = 0; i < d->notes.n; i++)
		text_wrap(o, TEXT_PLAIN, i ? REPORT_UNDER : "note     ", d->notes.at[i],
			  NOTE_LINES);
	say_ranks(o, d);
	for (int i = 0; i < DIFF_LISTS_N; i++)
		say_list(o, d, (enum diff_list_id)i, top);
	say_unchanged(o, d);
	say_not_compared(o, d);
}
