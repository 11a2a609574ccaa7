/* See report_lists.h. A list is described by a table of its columns. Each column names the member
 * that it shows, and the function that writes its cells. */
#include "export/report_lists.h"

#include "core/util/vec.h"
#include "export/kernel_words.h"
#include "export/report_sort.h"
#include "export/report_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_BYTES = 32, PLACE_BYTES = 600, CALLERS_SAID = 4, LEGEND_LINES = 3, GRAPHS_SAID = 6 };

struct row {
	const struct report_view *v;
	struct text_table *t;
	const char *item; /* an item of the list, a struct */
};

struct list_column {
	const char *heading;
	enum column_kind kind;
	void (*cell)(const struct row *r, size_t member);
	size_t member; /* offset of the member in the item */
};

struct report_list {
	const struct list_column *columns;
	unsigned n_columns;
	size_t item_bytes;
	void (*note)(const struct row *r); /* writes a line below each row; NULL: none */
	const char *legend;		   /* text below the table; NULL: none */
	/* offset of the milliseconds by which the items are sorted; items that would be shown as
	 * 0.000 are left out; 0: all items are shown */
	size_t sorted_by_ms;
};

/* ---- Any list ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), n_end = strlen(end);
	return n >= n_end && !strcmp(text + n - n_end, end);
}

/*
 * Prints the title of a list. Lists cover all recorded steps. If the first screen covers fewer
 * steps, the title says so. Memory growth (bytes per step) covers the whole run and needs no such
 * remark.
 */
void report_heading(const struct report_view *v, const char *title)
{
	char mean[80] = "";
	bool is_per_step = ends_with(title, "per step") && !ends_with(title, "bytes per step"),
	     is_unit = is_per_step && report_is_unit(v->process);
	if (is_per_step)
		report_mean_of(mean, sizeof(mean), v->process);
	text_line(v->out, TEXT_PLAIN, "%s", "");
	text_line(v->out, TEXT_BOLD, "%.*s%s%s",
		  (int)(strlen(title) - (is_unit ? strlen("per step") : 0)), title,
		  is_unit ? "in the whole run" : "", mean);
}

static double number_of(const struct row *r, size_t member)
{
	double value;
	memcpy(&value, r->item + member, sizeof(value));
	return value;
}

/* Writes the GPU time in graphs. A list without such times has no column for them. */
static void cell_graph_ms(const struct row *r, size_t member)
{
	report_cell_ms(r->t, number_of(r, member));
}

static bool is_any(const struct report_list *list, const struct list_column *c, const char *items,
		   size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isfinite(number_of(&(struct row){ .item = items + i * list->item_bytes },
				       c->member)))
			return true;
	return false;
}

/* Writes a number that is known of all rows or of none. */
static void cell_known_number(const struct row *r, size_t member);

/* Writes the average CPU time per call. There is room either for it or for the time in graphs,
 * which is the column before it. */
static void cell_host_average(const struct row *r, size_t member);

static bool is_shown(const struct report_list *list, const struct list_column *c, const char *items,
		     size_t n)
{
	if (c->cell == cell_graph_ms || c->cell == cell_known_number)
		return is_any(list, c, items, n);
	return c->cell != cell_host_average || !is_any(list, c - 1, items, n);
}

static void say_row(const struct report_list *list, const struct row *r, const bool *is_column)
{
	for (unsigned c = 0; c < list->n_columns; c++)
		if (is_column[c])
			list->columns[c].cell(r, list->columns[c].member);
	if (list->note)
		list->note(r);
}

/* Returns the number of items that are not shown as 0.000 ms. */
static size_t n_visible(const struct report_list *list, const char *items, size_t n)
{
	while (list->sorted_by_ms && n &&
	       number_of(&(struct row){ .item = items + (n - 1) * list->item_bytes },
			 list->sorted_by_ms) < REPORT_LEAST_MS)
		n--;
	return n;
}

/* Returns the column to sort by; NULL: the list keeps its order. */
static const struct list_column *
sorted_column(const struct report_view *v, const struct report_list *list, const bool *is_column)
{
	for (unsigned c = 0; v->sort && c < list->n_columns; c++)
		if (is_column[c] && !strcasecmp(list->columns[c].heading, v->sort))
			return &list->columns[c];
	return NULL;
}

/* Returns the n items in the order in which they are shown. The caller frees the result. */
static struct sort_row *order_items(const struct report_view *v, const struct report_list *list,
				    const struct list_column *by, const char *items, size_t n)
{
	struct sort_row *rows = mem_zero(n * sizeof(*rows));
	struct text_table cells;
	for (size_t i = 0; i < n; i++)
		rows[i].index = i;
	if (!by)
		return rows;
	*v->has_sorted = true;
	table_start(&cells, &(struct text_column){ by->heading, by->kind }, 1);
	for (size_t i = 0; i < n; i++)
		by->cell(&(struct row){ v, &cells, items + i * list->item_bytes }, by->member);
	for (size_t i = 0; i < n; i++)
		rows[i].shown = cells.cells.at[i];
	report_sort(rows, n, by->kind == COLUMN_NUMBER);
	table_free(&cells);
	return rows;
}

void report_list_say(const struct report_view *v, const struct report_list *list, const void *items,
		     size_t n, const char *title)
{
	struct text_table t;
	struct text_column columns[TEXT_TABLE_COLUMNS];
	bool is_column[TEXT_TABLE_COLUMNS] = { 0 };
	unsigned n_columns = 0;
	n = n_visible(list, items, n);
	size_t shown = n < v->top ? n : v->top;
	if (!n)
		return;
	report_heading(v, title);
	for (unsigned c = 0; c < list->n_columns; c++) {
		const struct list_column *from = &list->columns[c];
		is_column[c] = is_shown(list, from, items, n);
		if (is_column[c])
			columns[n_columns++] = (struct text_column){ from->heading, from->kind };
	}
	struct sort_row *order = order_items(v, list, sorted_column(v, list, is_column), items, n);
	table_start(&t, columns, n_columns);
	for (size_t i = 0; i < shown; i++) {
		const char *item = (const char *)items + order[i].index * list->item_bytes;
		say_row(list, &(struct row){ v, &t, item }, is_column);
	}
	table_end(&t, v->out);
	free(order);
	if (n > shown)
		text_line(v->out, TEXT_DIM, "  and %zu more (--top %zu)", n - shown, n);
	if (list->legend)
		text_wrap(v->out, TEXT_DIM, "  ", list->legend, LEGEND_LINES);
}

/* ---- Cells of most lists ---- */

static int64_t integer_of(const struct row *r, size_t member)
{
	int64_t value;
	memcpy(&value, r->item + member, sizeof(value));
	return value;
}

static bool truth_of(const struct row *r, size_t member)
{
	return r->item[member] != 0;
}

static const char *text_of(const struct row *r, size_t member)
{
	const char *text;
	memcpy(&text, r->item + member, sizeof(text));
	return text;
}

static const struct report_place *place_of(const struct row *r, size_t member)
{
	return (const struct report_place *)(const void *)(r->item + member);
}

static void cell_text(const struct row *r, size_t member)
{
	table_cell(r->t, "%s", text_of(r, member));
}

static void cell_integer(const struct row *r, size_t member)
{
	table_cell(r->t, "%lld", (long long)integer_of(r, member));
}

void report_cell_ms(struct text_table *t, double ms)
{
	char text[NUMBER_BYTES];
	table_cell(t, "%s", report_ms_or_dash(text, sizeof(text), ms));
}

static void cell_ms(const struct row *r, size_t member)
{
	report_cell_ms(r->t, number_of(r, member));
}

/* Writes a cell with the average per call. `ms`: time per step. `per_step`: calls per step. */
static void average(const struct row *r, double ms, double per_step)
{
	report_cell_ms(r->t, per_step > 0 ? ms / per_step : NAN);
}

static void number_with_unit(const struct row *r, size_t member, const char *unit)
{
	double value = number_of(r, member);
	int digits = value == round(value) ? 0 : 1;
	if (isfinite(value))
		table_cell(r->t, "%.*f%s", digits, value, unit);
	else
		table_cell(r->t, "-");
}

static void cell_number(const struct row *r, size_t member)
{
	number_with_unit(r, member, "");
}

static void cell_known_number(const struct row *r, size_t member)
{
	cell_number(r, member);
}

static void cell_percent(const struct row *r, size_t member)
{
	number_with_unit(r, member, " %");
}

static void cell_bytes(const struct row *r, size_t member)
{
	char text[NUMBER_BYTES];
	table_cell(r->t, "%s", report_bytes(text, sizeof(text), number_of(r, member)));
}

static void cell_place(const struct row *r, size_t member)
{
	char place[PLACE_BYTES];
	table_cell(r->t, "%s", report_place(place, sizeof(place), place_of(r, member), r->v->cwd));
}

static void cell_place_or_dash(const struct row *r, size_t member)
{
	const struct report_place *p = place_of(r, member);
	if (*p->file || *p->function)
		cell_place(r, member);
	else
		table_cell(r->t, "-");
}

#define N(array) (sizeof(array) / sizeof(*(array)))

/* Defines report_list_NAME with the columns NAME_columns. Its items are structs `of`. */
#define TABLE(name, of, ...)                                                             \
	const struct report_list report_list_##name = { .columns = name##_columns,       \
							.n_columns = N(name##_columns),  \
							.item_bytes = sizeof(struct of), \
							__VA_ARGS__ }

/* ---- The device ---- */

#define AT(m) offsetof(struct report_gpu, m)

static void cell_device(const struct row *r, size_t member)
{
	const struct process_facts *facts = &r->v->process->facts;
	for (size_t i = 0; i < facts->devices.n; i++)
		if (facts->devices.at[i].id == integer_of(r, member)) {
			table_cell(r->t, "%s", facts->devices.at[i].name);
			return;
		}
	table_cell(r->t, "%s", "");
}

static const struct list_column gpu_columns[] = {
	{ "GPU", COLUMN_NUMBER, cell_integer, AT(device) },
	{ "", COLUMN_TEXT, cell_device, AT(device) },
	{ "util", COLUMN_NUMBER, cell_percent, AT(busy_pct) },
	{ "busy ms", COLUMN_NUMBER, cell_ms, AT(busy_ms) },
	{ "idle ms", COLUMN_NUMBER, cell_ms, AT(idle_ms) },
	{ "kernels", COLUMN_NUMBER, cell_number, AT(kernels) },
	{ "tensor cores", COLUMN_NUMBER, cell_percent, AT(tensor_core_pct) },
};
TABLE(gpu, report_gpu);

static const struct list_column sm_columns[] = {
	{ "GPU", COLUMN_NUMBER, cell_integer, AT(device) },
	{ "SM efficiency", COLUMN_NUMBER, cell_percent, AT(sm_efficiency_pct) },
	{ "occupancy", COLUMN_NUMBER, cell_percent, AT(occupancy_pct) },
	{ "tensor cores", COLUMN_NUMBER, cell_percent, AT(tensor_core_pct) },
};
TABLE(sm, report_gpu,
      .legend = "SM efficiency: share of the steps and of the multiprocessors with blocks; "
		"occupancy: share of the threads that fit, while kernels run. Estimates.");

#undef AT
#define AT(m) offsetof(struct report_use, m)

static const struct list_column use_columns[] = {
	{ "GPU", COLUMN_NUMBER, cell_integer, AT(device) },
	{ "ms", COLUMN_NUMBER, cell_ms, AT(ms) },
	{ "of the steps", COLUMN_NUMBER, cell_percent, AT(pct) },
	{ "what runs", COLUMN_TEXT, cell_text, AT(what) },
};
TABLE(use, report_use);

#undef AT
#define AT(m) offsetof(struct report_launches, m)

static const struct list_column launches_columns[] = {
	{ "calls", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "call us", COLUMN_NUMBER, cell_number, AT(call_us.mean) },
	{ "delay us", COLUMN_NUMBER, cell_number, AT(delay_us.p50) },
	{ "95 %", COLUMN_NUMBER, cell_number, AT(delay_us.p95) },
	{ "short", COLUMN_NUMBER, cell_percent, AT(short_pct) },
	{ "function", COLUMN_NAME, cell_text, AT(name) },
};
TABLE(launches, report_launches,
      .legend = "delay: from the end of the call to the begin of its work, the median and the 95th "
		"percentile; short: calls whose work takes less time than they do");

#undef AT
#define AT(m) offsetof(struct report_queue, m)

static const struct list_column queues_columns[] = {
	{ "GPU", COLUMN_NUMBER, cell_integer, AT(device) },
	{ "stream", COLUMN_NUMBER, cell_integer, AT(stream) },
	{ "calls", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "mean length", COLUMN_NUMBER, cell_number, AT(mean) },
	{ "longest", COLUMN_NUMBER, cell_number, AT(most) },
	{ "wait us", COLUMN_NUMBER, cell_number, AT(wait_us) },
};
TABLE(queues, report_queue);

#undef AT
#define AT(m) offsetof(struct report_delay, m)

static const struct list_column delays_columns[] = {
	{ "runs", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "to launch us", COLUMN_NUMBER, cell_known_number, AT(to_launch_us) },
	{ "launch to work", COLUMN_NUMBER, cell_number, AT(launch_to_work_us) },
	{ "to work us", COLUMN_NUMBER, cell_known_number, AT(to_work_us) },
	{ "operator", COLUMN_NAME, cell_text, AT(name) },
};
TABLE(delays, report_delay,
      .legend = "From the begin of the operator to that of the first launch that it makes itself, "
		"from there to the begin of the launch's GPU work, and both. Means of the runs.");

#undef AT
#define AT(m) offsetof(struct report_sequence, m)

static const struct report_sequence *sequence_of(const struct row *r)
{
	return (const struct report_sequence *)(const void *)r->item;
}

/* Writes the kernels below the row, one that follows itself once. */
static void note_of_sequence(const struct row *r)
{
	char note[TEXT_BYTES] = "", name[TEXT_BYTES], times[NUMBER_BYTES];
	const struct report_sequence *x = sequence_of(r);
	for (size_t i = 0, n; i < x->kernels.n; i += n) {
		n = 1;
		while (i + n < x->kernels.n && !strcmp(x->kernels.at[i + n], x->kernels.at[i]))
			n++;
		snprintf(times, sizeof(times), n > 1 ? " x%zu" : "", n);
		size_t used = strlen(note);
		snprintf(note + used, sizeof(note) - used, "%s%s%s", used ? " > " : "",
			 kernel_short(name, sizeof(name), x->kernels.at[i]), times);
	}
	if ((size_t)x->n_kernels > x->kernels.n)
		text_append(note, sizeof(note), " > ...");
	table_note(r->t, note);
}

static const struct list_column sequences_columns[] = {
	{ "operator", COLUMN_NAME, cell_text, AT(name) },
	{ "runs", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "kernels", COLUMN_NUMBER, cell_integer, AT(n_kernels) },
	{ "GPU ms", COLUMN_NUMBER, cell_ms, AT(gpu_ms) },
	{ "CPU ms", COLUMN_NUMBER, cell_ms, AT(host_ms) },
};
TABLE(sequences, report_sequence, .note = note_of_sequence, .sorted_by_ms = AT(gpu_ms),
      .legend = "kernels: with copies and memsets; CPU ms: from the begin to the end of the "
		"operator.");

#undef AT
#define AT(m) offsetof(struct report_idle, m)

static void cell_cause(const struct row *r, size_t member)
{
	table_cell(r->t, "%s", report_cause_noun(text_of(r, member)));
}

static void cell_cause_meaning(const struct row *r, size_t member)
{
	table_cell(r->t, "%s", report_cause_words(text_of(r, member)));
}

/* Writes below a gap inside a graph which line captured the work before it. */
static void note_of_idle(const struct row *r)
{
	const struct report_idle *x = (const struct report_idle *)(const void *)r->item;
	char place[PLACE_BYTES], note[PLACE_BYTES + 8];
	if (!x->after)
		return;
	snprintf(note, sizeof(note), "after %s",
		 report_place(place, sizeof(place), x->after, r->v->cwd));
	table_note(r->t, note);
}

static const struct list_column idle_columns[] = {
	{ "cause", COLUMN_WORD, cell_cause, AT(cause) },
	{ "ms", COLUMN_NUMBER, cell_ms, AT(ms) },
	{ "of step", COLUMN_NUMBER, cell_percent, AT(pct) },
	{ "line", COLUMN_PLACE, cell_place_or_dash, AT(place) },
	{ "meaning", COLUMN_WORD, cell_cause_meaning, AT(cause) },
};
TABLE(idle, report_idle, .note = note_of_idle, .sorted_by_ms = AT(ms));

/* ---- Synchronization ---- */

#undef AT
#define AT(m) offsetof(struct report_sync, m)

static const struct report_sync *sync_of(const struct row *r)
{
	return (const struct report_sync *)(const void *)r->item;
}

static void cell_sync_kind(const struct row *r, size_t member)
{
	const char *words = report_sync_noun(text_of(r, member));
	table_cell(r->t, "%s", *words ? words : sync_of(r)->api);
}

/* Writes the library's line below the user's line in the stack, the source text of the user's line,
 * the user's functions in the stack, and the call that waits if nothing else names it. */
static void note_of_sync(const struct row *r)
{
	char note[TEXT_BYTES];
	const struct report_sync *s = sync_of(r);
	const char *kind = report_sync_noun(s->kind);
	unsigned said = 0;
	report_inner(note, sizeof(note), s->inner);
	if (s->called_from)
		snprintf(note, sizeof(note), "in %s", s->place.function);
	snprintf(note + strlen(note), sizeof(note) - strlen(note), "%s%s", *note ? " < " : "",
		 s->source);
	for (size_t i = 0; i < s->stack.n && said < CALLERS_SAID; i++) {
		const struct report_frame *frame = &s->stack.at[i];
		size_t used = strlen(note);
		if (frame->is_library || !*frame->place.file)
			continue;
		snprintf(note + used, sizeof(note) - used, "%s%s",
			 said	 ? " < "
			 : *note ? "   in "
				 : "in ",
			 frame->place.function);
		said++;
	}
	if (*kind && strcmp(kind, s->api) != 0 && !strstr(s->source, s->api)) {
		size_t used = strlen(note);
		snprintf(note + used, sizeof(note) - used, "%swaits in %s", *note ? "   " : "",
			 s->api);
	}
	if (s->called_from) {
		size_t used = strlen(note);
		snprintf(note + used, sizeof(note) - used, "   ");
		report_called_from(note + used + 3, sizeof(note) - used - 3, s->called_from);
	}
	table_note(r->t, note);
}

static const struct list_column syncs_columns[] = {
	{ "line", COLUMN_PLACE, cell_place, AT(place) },
	{ "kind", COLUMN_TEXT, cell_sync_kind, AT(kind) },
	{ "calls", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "blocked", COLUMN_NUMBER, cell_ms, AT(blocked_ms) },
	{ "GPU idle", COLUMN_NUMBER, cell_ms, AT(gpu_idle_ms) },
	{ "saved", COLUMN_NUMBER, cell_ms, AT(recoverable_ms) },
	{ "w/o line", COLUMN_NUMBER, cell_ms, AT(line_ms) },
};
TABLE(syncs, report_sync, .note = note_of_sync,
      .legend = "saved: ms saved if the wait is removed; w/o line: ms saved if the whole line is "
		"removed; both per typical step, or averaged over all steps if only a few wait");

/* ---- Code and work ---- */

#undef AT
#define AT(m) offsetof(struct report_line, m)

static void cell_gflop(const struct row *r, size_t member)
{
	table_cell(r->t, "%.3g", report_or_zero(number_of(r, member)) / 1e9);
}

static void cell_rate(const struct row *r, size_t member)
{
	if (number_of(r, member) > 0)
		table_cell(r->t, "%.3g", number_of(r, member));
	else
		table_cell(r->t, "-");
}

static void cell_of_peak(const struct row *r, size_t member)
{
	if (isfinite(number_of(r, member)))
		table_cell(r->t, "%.1f %%", number_of(r, member));
	else
		table_cell(r->t, "-");
}

static const struct list_column arithmetic_columns[] = {
	{ "line", COLUMN_PLACE, cell_place, AT(place) },
	{ "GFLOP", COLUMN_NUMBER, cell_gflop, AT(arithmetic.flops) },
	{ "TFLOP/s", COLUMN_NUMBER, cell_rate, AT(arithmetic.tflops) },
	{ "% of peak", COLUMN_NUMBER, cell_of_peak, AT(arithmetic.peak_pct) },
	{ "", COLUMN_TEXT, cell_text, AT(source) },
};
TABLE(arithmetic, report_line);

/* Writes the module below a package's line, because many modules run the same line. */
static void note_of_line(const struct row *r)
{
	const struct report_line *x = (const struct report_line *)(const void *)r->item;
	if (x->called_from && *x->module)
		table_note(r->t, x->module);
}

static const struct list_column lines_columns[] = {
	{ "line", COLUMN_PLACE, cell_place, AT(place) },
	{ "GPU ms", COLUMN_NUMBER, cell_ms, AT(gpu_ms) },
	{ "in graphs", COLUMN_NUMBER, cell_graph_ms, AT(graph_gpu_ms) },
	{ "CPU ms", COLUMN_NUMBER, cell_ms, AT(host_ms) },
	{ "launches", COLUMN_NUMBER, cell_number, AT(launches) },
	{ "", COLUMN_TEXT, cell_text, AT(source) },
};
TABLE(lines, report_line, .note = note_of_line);

#undef AT
#define AT(m) offsetof(struct report_host, m)

static const struct report_host *host_of(const struct row *r)
{
	return (const struct report_host *)(const void *)r->item;
}

static void cell_host_place(const struct row *r, size_t member)
{
	if (host_of(r)->after)
		table_cell(r->t, "(between two calls)");
	else
		cell_place_or_dash(r, member);
}

/* Writes below a row without a line between which calls it lies, and below native code the
 * library's function that its line called. */
static void note_of_host(const struct row *r)
{
	char note[PLACE_BYTES];
	const struct report_host *h = host_of(r);
	if (h->after)
		table_note(r->t, report_host_place(note, sizeof(note), h, r->v->cwd));
	else if (*report_host_native(note, sizeof(note), h))
		table_note(r->t, note + 1);
}

static const struct list_column host_columns[] = {
	{ "line", COLUMN_PLACE, cell_host_place, AT(place) },
	{ "self ms", COLUMN_NUMBER, cell_ms, AT(self_ms) },
	{ "total", COLUMN_NUMBER, cell_ms, AT(total_ms) },
	{ "kind", COLUMN_WORD, cell_text, AT(kind) },
	{ "samples", COLUMN_NUMBER, cell_integer, AT(samples) },
	{ "", COLUMN_TEXT, cell_text, AT(source) },
};
TABLE(host, report_host, .note = note_of_host,
      .legend = "From samples of the launching threads while they were in no CUDA call. total: "
		"includes functions called from the line.");

#undef AT
#define AT(m) offsetof(struct report_shape, m)

/* Writes a range if the inputs do not tell how much arithmetic there is. */
static void cell_flop_range(const struct row *r, size_t member)
{
	const struct report_shape *x = (const struct report_shape *)(const void *)r->item;
	(void)member;
	if (x->flops_most > x->flops)
		table_cell(r->t, "%.3g-%.3g", x->flops / 1e9, x->flops_most / 1e9);
	else
		table_cell(r->t, "%.3g", x->flops / 1e9);
}

static void note_of_shape(const struct row *r)
{
	char note[TEXT_BYTES];
	const struct report_shape *x = (const struct report_shape *)(const void *)r->item;
	snprintf(note, sizeof(note), "%s %s%s%s", x->shape, x->type, *x->bound ? ", bound by " : "",
		 x->bound);
	table_note(r->t, note);
}

static const struct list_column shapes_columns[] = {
	{ "operator", COLUMN_NAME, cell_text, AT(name) },
	{ "times", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "GPU ms", COLUMN_NUMBER, cell_ms, AT(gpu_ms) },
	{ "GFLOP", COLUMN_NUMBER, cell_flop_range, 0 },
	{ "TFLOP/s", COLUMN_NUMBER, cell_rate, AT(tflops) },
	{ "GB/s", COLUMN_NUMBER, cell_rate, AT(gb_per_s) },
	{ "of roofline", COLUMN_NUMBER, cell_of_peak, AT(roofline_pct) },
};
TABLE(shapes, report_shape, .note = note_of_shape, .sorted_by_ms = AT(gpu_ms),
      .legend = "of roofline: the time at the device's peak of arithmetic or memory, whichever is "
		"longer, in % of the time that it took.");

#undef AT
#define AT(m) offsetof(struct report_collective, m)

static const struct report_collective *collective_of(const struct row *r)
{
	return (const struct report_collective *)(const void *)r->item;
}

static void cell_wait(const struct row *r, size_t member)
{
	char ms[NUMBER_BYTES];
	const struct report_collective *x = collective_of(r);
	report_ms_or_dash(ms, sizeof(ms), number_of(r, member));
	if (isfinite(x->wait_ms) && x->last_rank >= 0)
		table_cell(r->t, "%s for rank %lld", ms, (long long)x->last_rank);
	else
		table_cell(r->t, "%s", ms);
}

/* Writes the place below the row, because the row has no room for it: names have up to 17
 * characters, and the last column contains the rank that is waited for. */
static void note_of_collective(const struct row *r)
{
	char place[PLACE_BYTES], note[TEXT_BYTES];
	const struct report_collective *x = collective_of(r);
	if (!*x->place.file && !*x->place.function)
		return;
	snprintf(note, sizeof(note), "%s  %s",
		 report_place(place, sizeof(place), &x->place, r->v->cwd), x->source);
	table_note(r->t, note);
}

static const struct list_column collectives_columns[] = {
	{ "call", COLUMN_WORD, cell_text, AT(name) },
	{ "ranks", COLUMN_NUMBER, cell_integer, AT(ranks) },
	{ "calls", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "bytes", COLUMN_NUMBER, cell_bytes, AT(bytes) },
	{ "GPU ms", COLUMN_NUMBER, cell_ms, AT(gpu_ms) },
	{ "bus GB/s", COLUMN_NUMBER, cell_number, AT(bus_gb_per_s) },
	{ "wait ms", COLUMN_NUMBER, cell_wait, AT(wait_ms) },
};
TABLE(collectives, report_collective, .note = note_of_collective);

#undef AT
#define AT(m) offsetof(struct report_module, m)

static const struct list_column modules_columns[] = {
	{ "module", COLUMN_NAME, cell_text, AT(name) },
	{ "calls", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "GPU ms", COLUMN_NUMBER, cell_ms, AT(gpu_ms) },
	{ "backward GPU", COLUMN_NUMBER, cell_ms, AT(backward_gpu_ms) },
	{ "in graphs", COLUMN_NUMBER, cell_graph_ms, AT(graph_gpu_ms) },
	{ "CPU ms", COLUMN_NUMBER, cell_ms, AT(host_ms) },
};
TABLE(modules, report_module);

#undef AT
#define AT(m) offsetof(struct report_operator, m)

/* Writes the average per call; `member` is the total per step. */
static void cell_operator_average(const struct row *r, size_t member)
{
	const struct report_operator *x = (const struct report_operator *)(const void *)r->item;
	average(r, number_of(r, member), x->per_step);
}

static void cell_host_average(const struct row *r, size_t member)
{
	cell_operator_average(r, member);
}

static const struct list_column operators_columns[] = {
	{ "operator", COLUMN_NAME, cell_text, AT(name) },
	{ "calls", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "self GPU", COLUMN_NUMBER, cell_ms, AT(self_gpu_ms) },
	{ "total", COLUMN_NUMBER, cell_ms, AT(gpu_ms) },
	{ "avg", COLUMN_NUMBER, cell_operator_average, AT(gpu_ms) },
	{ "self CPU", COLUMN_NUMBER, cell_ms, AT(self_host_ms) },
	{ "total", COLUMN_NUMBER, cell_ms, AT(host_ms) },
	{ "in graphs", COLUMN_NUMBER, cell_graph_ms, AT(graph_gpu_ms) },
	{ "avg", COLUMN_NUMBER, cell_host_average, AT(host_ms) },
};
TABLE(operators, report_operator,
      .legend = "total: includes nested operators; avg: total per call. Operators that launch no "
		"GPU work are not listed. An operator's CPU time starts at its first allocation or "
		"CUDA call.");

#undef AT
#define AT(m) offsetof(struct report_kernel, m)

static void cell_tensor_core(const struct row *r, size_t member)
{
	table_cell(r->t, "%s", truth_of(r, member) ? "tensor cores" : "");
}

/* Writes the short name, or the full name if another kernel has the same short name. */
static void cell_kernel(const struct row *r, size_t member)
{
	char name[TEXT_BYTES], other[TEXT_BYTES];
	const struct report_process *p = r->v->process;
	kernel_short(name, sizeof(name), text_of(r, member));
	for (size_t i = 0; i < p->kernels.n; i++) {
		kernel_short(other, sizeof(other), p->kernels.at[i].name);
		if (!strcmp(name, other) &&
		    strcmp(p->kernels.at[i].name, text_of(r, member)) != 0) {
			cell_text(r, member);
			return;
		}
	}
	table_cell(r->t, "%s", name);
}

static void cell_kernel_average(const struct row *r, size_t member)
{
	const struct report_kernel *x = (const struct report_kernel *)(const void *)r->item;
	average(r, number_of(r, member), x->per_step);
}

static const struct list_column kernels_columns[] = {
	{ "kernel", COLUMN_NAME, cell_kernel, AT(name) },
	{ "calls", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "GPU ms", COLUMN_NUMBER, cell_ms, AT(gpu_ms) },
	{ "in graphs", COLUMN_NUMBER, cell_graph_ms, AT(graph_gpu_ms) },
	{ "avg", COLUMN_NUMBER, cell_kernel_average, AT(gpu_ms) },
	{ "share", COLUMN_NUMBER, cell_percent, AT(pct) },
	{ "", COLUMN_WORD, cell_tensor_core, AT(tensor_core) },
};
TABLE(kernels, report_kernel);

#undef AT
#define AT(m) offsetof(struct report_critical_kind, m)

static const struct list_column critical_kinds_columns[] = {
	{ "ms", COLUMN_NUMBER, cell_ms, AT(ms) },
	{ "of the path", COLUMN_NUMBER, cell_percent, AT(pct) },
	{ "kind", COLUMN_TEXT, cell_text, AT(what) },
};
TABLE(critical_kinds, report_critical_kind, .sorted_by_ms = AT(ms),
      .legend = "The chain of CPU code, launches, GPU work and waits that the steps' time consists "
		"of. Only what is on it makes a step longer.");

#undef AT
#define AT(m) offsetof(struct report_critical, m)

/* Writes the name or, of CPU code without samples, the operator of the call that follows. */
static void cell_critical_name(const struct row *r, size_t member)
{
	const struct report_critical *x = (const struct report_critical *)(const void *)r->item;
	if (*x->name)
		cell_kernel(r, member);
	else
		table_cell(r->t, "%s", x->op);
}

static const struct list_column critical_columns[] = {
	{ "ms", COLUMN_NUMBER, cell_ms, AT(ms) },
	{ "of the path", COLUMN_NUMBER, cell_percent, AT(pct) },
	{ "links", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "kind", COLUMN_TEXT, cell_text, AT(what) },
	{ "name", COLUMN_NAME, cell_critical_name, AT(name) },
	{ "line", COLUMN_PLACE, cell_place_or_dash, AT(place) },
};
TABLE(critical, report_critical, .sorted_by_ms = AT(ms));

#undef AT
#define AT(m) offsetof(struct report_graph, m)

/* Writes below a graph the modules that it runs, and the line that launches it. */
static void note_of_graph(const struct row *r)
{
	const struct report_graph *x = (const struct report_graph *)(const void *)r->item;
	char place[PLACE_BYTES] = "", every[NUMBER_BYTES + 16] = "", ms[NUMBER_BYTES];
	char note[TEXT_BYTES];
	if (x->launched_from)
		report_place(place, sizeof(place), x->launched_from, r->v->cwd);
	if (isfinite(x->interval_ms))
		snprintf(every, sizeof(every), ", every %s ms",
			 report_ms(ms, sizeof(ms), x->interval_ms));
	snprintf(note, sizeof(note), "%s%s%s%s%s", x->module, *x->module && *place ? "   " : "",
		 *place ? "launched from " : "", place, *place ? every : "");
	table_note(r->t, note);
}

static const struct list_column graphs_columns[] = {
	{ "graph", COLUMN_NUMBER, cell_integer, AT(graph) },
	{ "captured at", COLUMN_PLACE, cell_place_or_dash, AT(place) },
	{ "launches", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "nodes", COLUMN_NUMBER, cell_integer, AT(nodes) },
	{ "GPU ms", COLUMN_NUMBER, cell_ms, AT(gpu_ms) },
	{ "idle ms", COLUMN_NUMBER, cell_ms, AT(idle_ms) },
	{ "steps", COLUMN_NUMBER, cell_integer, AT(steps) },
	{ "step ms", COLUMN_NUMBER, cell_ms, AT(step_ms) },
};
TABLE(graphs, report_graph, .note = note_of_graph,
      .legend = "launches: per step; GPU ms, idle ms (between nodes): per launch; steps: number of "
		"recorded steps that launch the graph; step ms: their median");

#undef AT
#define AT(m) offsetof(struct report_graph_steps, m)

static void cell_launches(const struct row *r, size_t member)
{
	const struct report_graph_steps *x =
		(const struct report_graph_steps *)(const void *)r->item;
	(void)member;
	if (x->least < x->most)
		table_cell(r->t, "%lld to %lld", (long long)x->least, (long long)x->most);
	else
		table_cell(r->t, "%lld", (long long)x->least);
}

/* Writes the first numbers of a list of graphs. */
static void cell_graphs(const struct row *r, size_t member)
{
	const struct report_graph_steps *x =
		(const struct report_graph_steps *)(const void *)r->item;
	char text[TEXT_BYTES] = "none";
	int n = 0;
	(void)member;
	for (size_t i = 0; i < x->graphs.n && i < GRAPHS_SAID; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%lld", i ? ", " : "",
			      (long long)x->graphs.at[i]);
	if (x->graphs.n > GRAPHS_SAID)
		snprintf(text + n, sizeof(text) - (size_t)n, " and %zu more",
			 x->graphs.n - GRAPHS_SAID);
	table_cell(r->t, "%s", text);
}

static const struct list_column graph_steps_columns[] = {
	{ "steps", COLUMN_NUMBER, cell_integer, AT(steps) },
	{ "step ms", COLUMN_NUMBER, cell_ms, AT(step_ms) },
	{ "launches", COLUMN_NUMBER, cell_launches, AT(least) },
	{ "graphs", COLUMN_TEXT, cell_graphs, AT(graphs) },
};
TABLE(graph_steps, report_graph_steps,
      .legend = "steps: number of recorded steps that launch exactly these graphs; step ms: their "
		"median; launches: of graphs, in each of these steps");

#undef AT
#define AT(m) offsetof(struct report_copy, m)

static void cell_blocking(const struct row *r, size_t member)
{
	table_cell(r->t, "%s", truth_of(r, member) ? "blocking" : "async");
}

static const struct list_column copies_columns[] = {
	{ "copy", COLUMN_WORD, cell_text, AT(kind) },
	{ "memory", COLUMN_TEXT, cell_text, AT(memory) },
	{ "calls", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "bytes", COLUMN_NUMBER, cell_bytes, AT(bytes) },
	{ "GB/s", COLUMN_NUMBER, cell_number, AT(gb_per_s) },
	{ "", COLUMN_WORD, cell_blocking, AT(blocking) },
	{ "line", COLUMN_PLACE, cell_place, AT(place) },
};
TABLE(copies, report_copy);

/* ---- Memory, startup ---- */

#undef AT
#define AT(m) offsetof(struct report_block, m)

/* Writes the line that allocated the memory, or, if there is none, what the memory is. */
static void cell_maker(const struct row *r, size_t member)
{
	if (*text_of(r, member))
		cell_text(r, member);
	else
		cell_place(r, AT(place));
}

static const struct list_column blocks_columns[] = {
	{ "bytes", COLUMN_NUMBER, cell_bytes, AT(bytes) },
	{ "line", COLUMN_PLACE, cell_maker, AT(what) },
};
TABLE(blocks, report_block);

#undef AT
#define AT(m) offsetof(struct report_blocks, m)

static const struct list_column by_kind_columns[] = {
	{ "at the peak", COLUMN_NUMBER, cell_bytes, AT(bytes) },
	{ "peak of this kind", COLUMN_NUMBER, cell_bytes, AT(peak_bytes) },
	{ "blocks/step", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "kind", COLUMN_TEXT, cell_text, AT(name) },
};
TABLE(by_kind, report_blocks);

static const struct list_column by_phase_columns[] = {
	{ "at the peak", COLUMN_NUMBER, cell_bytes, AT(bytes) },
	{ "peak of this phase", COLUMN_NUMBER, cell_bytes, AT(peak_bytes) },
	{ "blocks/step", COLUMN_NUMBER, cell_number, AT(per_step) },
	{ "phase", COLUMN_TEXT, cell_text, AT(name) },
};
TABLE(by_phase, report_blocks);

#undef AT
#define AT(m) offsetof(struct report_once, m)

static const struct list_column once_columns[] = {
	{ "ms", COLUMN_NUMBER, cell_ms, AT(ms) },
	{ "what", COLUMN_NAME, cell_text, AT(what) },
	{ "line", COLUMN_PLACE, cell_place_or_dash, AT(place) },
};
TABLE(once, report_once);
