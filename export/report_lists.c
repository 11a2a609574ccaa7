/* See report_lists.h: a list is a table of its columns, each with the member it shows and what writes the cell. */
#include "export/report_lists.h"

#include "export/kernel_words.h"
#include "export/report_words.h"

#include <string.h>

enum { NUMBER_BYTES = 32, PLACE_BYTES = 600, CALLERS_SAID = 4, LEGEND_LINES = 3 };

struct row {
	const struct report_view *v;
	struct text_table *t;
	const json_t *item;
};

struct list_column {
	const char *heading;
	enum column_kind kind;
	void (*cell)(const struct row *r, const char *member);
	const char *member;
};

struct report_list {
	const struct list_column *columns;
	unsigned n_columns;
	void (*note)(const struct row *r); /* a line below each row */
	const char *legend;		   /* below the table */
};

/* ---- Any list ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), n_end = strlen(end);
	return n >= n_end && !strcmp(text + n - n_end, end);
}

/* Lists are of all recorded steps, but memory that grows is of the whole run: where the first lines are not, it is said. */
void report_heading(const struct report_view *v, const char *title)
{
	char mean[80] = "";
	if (ends_with(title, "per step") && !ends_with(title, "bytes per step"))
		report_mean_of(mean, sizeof(mean), v->process);
	text_line(v->out, TEXT_PLAIN, "%s", "");
	text_line(v->out, TEXT_BOLD, "%s%s", title, mean);
}

static void say_row(const struct report_list *list, const struct row *r)
{
	for (unsigned c = 0; c < list->n_columns; c++)
		list->columns[c].cell(r, list->columns[c].member);
	if (list->note)
		list->note(r);
}

void report_list_say(const struct report_view *v, const struct report_list *list,
		     const json_t *items, const char *title)
{
	struct text_table t;
	struct text_column columns[TEXT_TABLE_COLUMNS];
	size_t n = json_array_size(items), shown = n < v->top ? n : v->top;
	if (!n)
		return;
	report_heading(v, title);
	for (unsigned c = 0; c < list->n_columns; c++)
		columns[c] =
			(struct text_column){ list->columns[c].heading, list->columns[c].kind };
	table_start(&t, columns, list->n_columns);
	for (size_t i = 0; i < shown; i++)
		say_row(list, &(struct row){ v, &t, json_array_get(items, i) });
	table_end(&t, v->out);
	if (n > shown)
		text_line(v->out, TEXT_DIM, "  and %zu more (--top %zu)", n - shown, n);
	if (list->legend)
		text_wrap(v->out, TEXT_DIM, "  ", list->legend, LEGEND_LINES);
}

/* ---- Cells of most lists ---- */

static void cell_text(const struct row *r, const char *member)
{
	table_cell(r->t, "%s", report_string(r->item, member));
}

void report_cell_ms(struct text_table *t, const json_t *item, const char *member)
{
	char text[NUMBER_BYTES];
	table_cell(t, "%s", report_ms_of(text, sizeof(text), item, member));
}

static void cell_ms(const struct row *r, const char *member)
{
	report_cell_ms(r->t, r->item, member);
}

static void number_with_unit(const struct row *r, const char *member, const char *unit)
{
	double value = report_number(r->item, member);
	int digits = value == (double)(long long)value ? 0 : 1;
	if (report_has_number(r->item, member))
		table_cell(r->t, "%.*f%s", digits, value, unit);
	else
		table_cell(r->t, "-");
}

static void cell_number(const struct row *r, const char *member)
{
	number_with_unit(r, member, "");
}

static void cell_percent(const struct row *r, const char *member)
{
	number_with_unit(r, member, " %");
}

static void cell_bytes(const struct row *r, const char *member)
{
	char text[NUMBER_BYTES];
	table_cell(r->t, "%s", report_bytes(text, sizeof(text), report_number(r->item, member)));
}

/* "(not known)" for an item without file and function, or "-" if it has no `member`. */
static void cell_place(const struct row *r, const char *member)
{
	char place[PLACE_BYTES];
	if (member && !json_is_string(json_object_get(r->item, member)))
		table_cell(r->t, "-");
	else
		table_cell(r->t, "%s", report_place(place, sizeof(place), r->item, r->v->cwd));
}

#define N(array) (sizeof(array) / sizeof(*(array)))

/* The list `name` is made of `name`_columns. */
#define LIST(name, ...)                                                                 \
	const struct report_list report_list_##name = { .columns = name##_columns,      \
							.n_columns = N(name##_columns), \
							__VA_ARGS__ }

/* ---- The device ---- */

static void cell_device(const struct row *r, const char *member)
{
	const json_t *devices = json_object_get(r->v->process, "devices");
	double id = report_number(r->item, member);
	for (size_t i = 0; i < json_array_size(devices); i++) {
		const json_t *device = json_array_get(devices, i);
		if (report_number(device, "id") == id) {
			table_cell(r->t, "%s", report_string(device, "name"));
			return;
		}
	}
	table_cell(r->t, "%s", "");
}

static const struct list_column gpu_columns[] = {
	{ "GPU", COLUMN_NUMBER, cell_number, "device" },
	{ "", COLUMN_TEXT, cell_device, "device" },
	{ "busy", COLUMN_NUMBER, cell_percent, "busy_pct" },
	{ "busy ms", COLUMN_NUMBER, cell_ms, "busy_ms_per_step" },
	{ "idle ms", COLUMN_NUMBER, cell_ms, "idle_ms_per_step" },
	{ "kernels", COLUMN_NUMBER, cell_number, "kernels_per_step" },
	{ "tensor cores", COLUMN_NUMBER, cell_percent, "tensor_core_pct" },
};
LIST(gpu);

static void cell_cause_words(const struct row *r, const char *member)
{
	table_cell(r->t, "%s", report_cause_words(report_string(r->item, member)));
}

static const struct list_column idle_columns[] = {
	{ "cause", COLUMN_WORD, cell_text, "cause" },
	{ "ms", COLUMN_NUMBER, cell_ms, "ms_per_step" },
	{ "of the step", COLUMN_NUMBER, cell_percent, "pct" },
	{ "where", COLUMN_PLACE, cell_place, "where" },
	{ "that is", COLUMN_WORD, cell_cause_words, "cause" },
};
LIST(idle);

/* ---- Waits ---- */

static void cell_wait_kind(const struct row *r, const char *member)
{
	const char *words = report_kind_words(report_string(r->item, member));
	table_cell(r->t, "%s", *words ? words : report_string(r->item, "api"));
}

/* The line's own text, then the user's functions that it was reached through. */
static void note_of_sync(const struct row *r)
{
	char note[TEXT_BYTES];
	const json_t *stack = json_object_get(r->item, "stack");
	unsigned said = 0;
	report_inner(note, sizeof(note), r->item);
	snprintf(note + strlen(note), sizeof(note) - strlen(note), "%s%s", *note ? " < " : "",
		 report_string(r->item, "source"));
	for (size_t i = 0; i < json_array_size(stack) && said < CALLERS_SAID; i++) {
		const json_t *frame = json_array_get(stack, i);
		size_t used = strlen(note);
		if (json_is_true(json_object_get(frame, "is_library")) ||
		    !*report_string(frame, "file"))
			continue;
		snprintf(note + used, sizeof(note) - used, "%s%s",
			 said	 ? " < "
			 : *note ? "   in "
				 : "in ",
			 report_string(frame, "function"));
		said++;
	}
	table_note(r->t, note);
}

static const struct list_column syncs_columns[] = {
	{ "line", COLUMN_PLACE, cell_place, NULL },
	{ "what", COLUMN_TEXT, cell_wait_kind, "kind" },
	{ "times", COLUMN_NUMBER, cell_number, "per_step" },
	{ "blocked", COLUMN_NUMBER, cell_ms, "blocked_ms_per_step" },
	{ "GPU idle", COLUMN_NUMBER, cell_ms, "gpu_idle_ms_per_step" },
	{ "saves", COLUMN_NUMBER, cell_ms, "recoverable_ms_per_step" },
	{ "with line", COLUMN_NUMBER, cell_ms, "line_ms_per_step" },
};
LIST(syncs, .note = note_of_sync,
     .legend = "saves: what a step loses if the wait goes; with line: if the whole line goes; "
	       "of a usual step, or where few steps wait, of the mean one");

/* ---- Code and work ---- */

static void cell_gflop(const struct row *r, const char *member)
{
	table_cell(r->t, "%.3g", report_number(r->item, member) / 1e9);
}

static void cell_rate(const struct row *r, const char *member)
{
	if (report_number(r->item, member) > 0)
		table_cell(r->t, "%.3g", report_number(r->item, member));
	else
		table_cell(r->t, "-");
}

static void cell_of_peak(const struct row *r, const char *member)
{
	if (report_has_number(r->item, member))
		table_cell(r->t, "%.1f %%", report_number(r->item, member));
	else
		table_cell(r->t, "-");
}

static const struct list_column arithmetic_columns[] = {
	{ "line", COLUMN_PLACE, cell_place, NULL },
	{ "GFLOP", COLUMN_NUMBER, cell_gflop, "flops" },
	{ "TFLOP/s", COLUMN_NUMBER, cell_rate, "tflops" },
	{ "of peak", COLUMN_NUMBER, cell_of_peak, "peak_pct" },
	{ "", COLUMN_TEXT, cell_text, "source" },
};
LIST(arithmetic);

static void cell_wait(const struct row *r, const char *member)
{
	char ms[NUMBER_BYTES];
	double wait = report_number(r->item, member);
	if (!report_has_number(r->item, member))
		table_cell(r->t, "-");
	else if (report_has_number(r->item, "last_rank"))
		table_cell(r->t, "%s for rank %.0f", report_ms(ms, sizeof(ms), wait),
			   report_number(r->item, "last_rank"));
	else
		table_cell(r->t, "%s", report_ms(ms, sizeof(ms), wait));
}

static const struct list_column collectives_columns[] = {
	{ "call", COLUMN_WORD, cell_text, "name" },
	{ "ranks", COLUMN_NUMBER, cell_number, "ranks" },
	{ "times", COLUMN_NUMBER, cell_number, "per_step" },
	{ "bytes", COLUMN_NUMBER, cell_bytes, "bytes_per_step" },
	{ "GPU ms", COLUMN_NUMBER, cell_ms, "gpu_ms_per_step" },
	{ "bus GB/s", COLUMN_NUMBER, cell_number, "bus_gb_per_s" },
	{ "waits", COLUMN_NUMBER, cell_wait, "wait_ms_per_step" },
};

/* Where it is called has no room beside names of 17 characters and who is waited for. */
static void note_of_collective(const struct row *r)
{
	char place[PLACE_BYTES], note[TEXT_BYTES];
	if (!*report_string(r->item, "file") && !*report_string(r->item, "function"))
		return;
	snprintf(note, sizeof(note), "%s  %s",
		 report_place(place, sizeof(place), r->item, r->v->cwd),
		 report_string(r->item, "source"));
	table_note(r->t, note);
}

LIST(collectives, .note = note_of_collective);

static const struct list_column lines_columns[] = {
	{ "line", COLUMN_PLACE, cell_place, NULL },
	{ "GPU ms", COLUMN_NUMBER, cell_ms, "gpu_ms_per_step" },
	{ "CPU ms", COLUMN_NUMBER, cell_ms, "host_ms_per_step" },
	{ "launches", COLUMN_NUMBER, cell_number, "launches_per_step" },
	{ "", COLUMN_TEXT, cell_text, "source" },
};
LIST(lines);

static const struct list_column modules_columns[] = {
	{ "module", COLUMN_NAME, cell_text, "name" },
	{ "times", COLUMN_NUMBER, cell_number, "per_step" },
	{ "GPU ms", COLUMN_NUMBER, cell_ms, "gpu_ms_per_step" },
	{ "its backward", COLUMN_NUMBER, cell_ms, "backward_gpu_ms_per_step" },
	{ "CPU ms", COLUMN_NUMBER, cell_ms, "host_ms_per_step" },
};
LIST(modules);

static const struct list_column operators_columns[] = {
	{ "operator", COLUMN_NAME, cell_text, "name" },
	{ "times", COLUMN_NUMBER, cell_number, "per_step" },
	{ "GPU ms", COLUMN_NUMBER, cell_ms, "gpu_ms_per_step" },
	{ "CPU ms", COLUMN_NUMBER, cell_ms, "host_ms_per_step" },
};
LIST(operators, .legend = "CPU ms: from a run's first allocation or CUDA call to its last call; "
			  "not all of it");

static void cell_tensor_core(const struct row *r, const char *member)
{
	bool is_one = json_is_true(json_object_get(r->item, member));
	table_cell(r->t, "%s", is_one ? "tensor cores" : "");
}

/* Shortened where no other kernel becomes the same. */
static void cell_kernel(const struct row *r, const char *member)
{
	char name[TEXT_BYTES], other[TEXT_BYTES];
	const json_t *kernels = json_object_get(r->v->process, "kernels");
	kernel_short(name, sizeof(name), report_string(r->item, member));
	for (size_t i = 0; i < json_array_size(kernels); i++) {
		const json_t *k = json_array_get(kernels, i);
		kernel_short(other, sizeof(other), report_string(k, member));
		if (!strcmp(name, other) &&
		    strcmp(report_string(k, member), report_string(r->item, member)) != 0) {
			cell_text(r, member);
			return;
		}
	}
	table_cell(r->t, "%s", name);
}

static const struct list_column kernels_columns[] = {
	{ "kernel", COLUMN_NAME, cell_kernel, "name" },
	{ "times", COLUMN_NUMBER, cell_number, "per_step" },
	{ "GPU ms", COLUMN_NUMBER, cell_ms, "gpu_ms_per_step" },
	{ "share", COLUMN_NUMBER, cell_percent, "pct" },
	{ "", COLUMN_WORD, cell_tensor_core, "tensor_core" },
};
LIST(kernels);

static void cell_blocking(const struct row *r, const char *member)
{
	bool waits = json_is_true(json_object_get(r->item, member));
	table_cell(r->t, "%s", waits ? "waits" : "goes on");
}

static const struct list_column copies_columns[] = {
	{ "copy", COLUMN_WORD, cell_text, "kind" },
	{ "memory", COLUMN_TEXT, cell_text, "memory" },
	{ "times", COLUMN_NUMBER, cell_number, "per_step" },
	{ "bytes", COLUMN_NUMBER, cell_bytes, "bytes_per_step" },
	{ "GB/s", COLUMN_NUMBER, cell_number, "gb_per_s" },
	{ "CPU", COLUMN_WORD, cell_blocking, "blocking" },
	{ "line", COLUMN_PLACE, cell_place, NULL },
};
LIST(copies);

/* ---- Memory, once ---- */

/* What else the memory is, where no line made it. */
static void cell_maker(const struct row *r, const char *member)
{
	if (*report_string(r->item, member))
		cell_text(r, member);
	else
		cell_place(r, NULL);
}

static const struct list_column at_peak_columns[] = {
	{ "bytes", COLUMN_NUMBER, cell_bytes, "bytes" },
	{ "line", COLUMN_PLACE, cell_maker, "what" },
};
LIST(at_peak);

static const struct list_column leaks_columns[] = {
	{ "bytes", COLUMN_NUMBER, cell_bytes, "bytes_per_step" },
	{ "line", COLUMN_PLACE, cell_maker, "what" },
};
LIST(leaks);

static const struct list_column by_kind_columns[] = {
	{ "at the peak", COLUMN_NUMBER, cell_bytes, "bytes" },
	{ "most of it", COLUMN_NUMBER, cell_bytes, "peak_bytes" },
	{ "blocks/step", COLUMN_NUMBER, cell_number, "blocks_per_step" },
	{ "", COLUMN_TEXT, cell_text, "kind" },
};
LIST(by_kind);

static const struct list_column by_phase_columns[] = {
	{ "at the peak", COLUMN_NUMBER, cell_bytes, "bytes" },
	{ "most of it", COLUMN_NUMBER, cell_bytes, "peak_bytes" },
	{ "blocks/step", COLUMN_NUMBER, cell_number, "blocks_per_step" },
	{ "", COLUMN_TEXT, cell_text, "phase" },
};
LIST(by_phase);

static const struct list_column once_columns[] = {
	{ "ms", COLUMN_NUMBER, cell_ms, "ms" },
	{ "what", COLUMN_NAME, cell_text, "what" },
	{ "line", COLUMN_PLACE, cell_place, NULL },
};
LIST(once);
