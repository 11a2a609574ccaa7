/* See report_pages.h: one function a part, one table of them. */
#include "export/report_pages.h"

#include "export/report_words.h"

#include <string.h>

enum { NUMBER_BYTES = 32, PLACE_BYTES = 600 };

#define LEAST_MS 0.0005 /* less is 0.000 */

#define COLUMNS(list) (list), sizeof(list) / sizeof(*(list))

static void heading(const struct report_view *v, const char *text)
{
	text_line(v->out, TEXT_PLAIN, "%s", "");
	text_line(v->out, TEXT_BOLD, "%s", text);
}

/* The list's rows that are shown; nothing else is printed for an empty one. */
static size_t begin_list(const struct report_view *v, const json_t *list, const char *title,
			 struct text_table *t, const struct text_column *columns, size_t n_columns)
{
	size_t n = json_array_size(list);
	if (!n)
		return 0;
	heading(v, title);
	table_start(t, columns, (unsigned)n_columns);
	return n < v->top ? n : v->top;
}

static void end_list(const struct report_view *v, const json_t *list, size_t shown,
		     struct text_table *t)
{
	size_t n = json_array_size(list);
	table_end(t, v->out);
	if (n > shown)
		text_line(v->out, TEXT_DIM, "  and %zu more (--top %zu)", n - shown, n);
}

static void cell_ms(struct text_table *t, const json_t *o, const char *name)
{
	char text[NUMBER_BYTES];
	if (report_has_number(o, name))
		table_cell(t, "%s", report_ms(text, sizeof(text), report_number(o, name)));
	else
		table_cell(t, "-");
}

static void cell_number(struct text_table *t, const json_t *o, const char *name, const char *unit)
{
	double value = report_number(o, name);
	if (report_has_number(o, name))
		table_cell(t, "%.*f%s", value == (double)(long long)value ? 0 : 1, value, unit);
	else
		table_cell(t, "-");
}

static void cell_bytes(struct text_table *t, const json_t *o, const char *name)
{
	char text[NUMBER_BYTES];
	table_cell(t, "%s", report_bytes(text, sizeof(text), report_number(o, name)));
}

static void cell_place(const struct report_view *v, struct text_table *t, const json_t *o)
{
	char place[PLACE_BYTES];
	table_cell(t, "%s", report_place(place, sizeof(place), o, v->cwd));
}

/* ---- Steps ---- */

static void row_of_lengths(struct text_table *t, const char *name, const json_t *s)
{
	static const char *const figures[] = { "mean", "std", "min", "p50", "p95", "p99", "max" };
	if (!json_is_object(s))
		return;
	table_cell(t, "%s", name);
	table_cell(t, "%.0f", report_number(s, "n"));
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		cell_ms(t, s, figures[i]);
}

static void say_baseline(const struct report_view *v, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "steps", false, false, CUT_TAIL }, { "n", true, false, CUT_TAIL },
		{ "mean", true, false, CUT_TAIL },   { "std", true, false, CUT_TAIL },
		{ "min", true, false, CUT_TAIL },    { "p50", true, false, CUT_TAIL },
		{ "p95", true, false, CUT_TAIL },    { "p99", true, false, CUT_TAIL },
		{ "max", true, false, CUT_TAIL },
	};
	const json_t *baseline = json_object_get(p, "baseline");
	struct text_table t;
	if (!json_is_object(json_object_get(baseline, "step_ms")))
		return;
	heading(v, "Length of steps, ms");
	table_start(&t, COLUMNS(columns));
	row_of_lengths(&t, "all but warm-up", json_object_get(baseline, "step_ms"));
	row_of_lengths(&t, "warm-up", json_object_get(baseline, "warm_up_ms"));
	row_of_lengths(&t, "recorded", json_object_get(baseline, "armed_ms"));
	table_end(&t, v->out);
}

static const char *device_name(const json_t *p, double id)
{
	const json_t *devices = json_object_get(p, "devices");
	for (size_t i = 0; i < json_array_size(devices); i++)
		if (report_number(json_array_get(devices, i), "id") == id)
			return report_string(json_array_get(devices, i), "name");
	return "";
}

static void say_gpu(const struct report_view *v, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "GPU", true, false, CUT_TAIL },	   { "", false, true, CUT_TAIL },
		{ "busy", true, false, CUT_TAIL },	   { "busy ms", true, false, CUT_TAIL },
		{ "idle ms", true, false, CUT_TAIL },	   { "kernels", true, false, CUT_TAIL },
		{ "tensor cores", true, false, CUT_TAIL },
	};
	struct text_table t;
	const json_t *list = json_object_get(p, "gpu");
	size_t n = begin_list(v, list, "GPU, per step", &t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *g = json_array_get(list, i);
		cell_number(&t, g, "device", "");
		table_cell(&t, "%s", device_name(p, report_number(g, "device")));
		cell_number(&t, g, "busy_pct", " %");
		cell_ms(&t, g, "busy_ms_per_step");
		cell_ms(&t, g, "idle_ms_per_step");
		cell_number(&t, g, "kernels_per_step", "");
		cell_number(&t, g, "tensor_core_pct", " %");
	}
	if (n)
		end_list(v, list, n, &t);
}

static void say_idle(const struct report_view *v, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "cause", false, false, CUT_TAIL },	  { "ms", true, false, CUT_TAIL },
		{ "of the step", true, false, CUT_TAIL }, { "where", false, true, CUT_HEAD },
		{ "that is", false, false, CUT_TAIL },
	};
	struct text_table t;
	const json_t *list = json_object_get(p, "idle");
	size_t n = begin_list(v, list, "Why the GPU was idle, per step", &t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(list, i);
		table_cell(&t, "%s", report_string(x, "cause"));
		cell_ms(&t, x, "ms_per_step");
		cell_number(&t, x, "pct", " %");
		if (json_is_string(json_object_get(x, "where")))
			cell_place(v, &t, x);
		else
			table_cell(&t, "-");
		table_cell(&t, "%s", report_cause_words(report_string(x, "cause")));
	}
	if (n)
		end_list(v, list, n, &t);
}

/* ---- Waits ---- */

enum { CALLERS_SAID = 4 };

/* The line's own text, then the user's functions that it was reached through. */
static void note_of_sync(struct text_table *t, const json_t *s)
{
	char note[TEXT_BYTES];
	const json_t *stack = json_object_get(s, "stack");
	unsigned said = 0;
	snprintf(note, sizeof(note), "%s", report_string(s, "source"));
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
	table_note(t, note);
}

static void say_syncs(const struct report_view *v, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "line", false, true, CUT_HEAD },	{ "what", false, true, CUT_TAIL },
		{ "times", true, false, CUT_TAIL },	{ "blocked", true, false, CUT_TAIL },
		{ "GPU idle", true, false, CUT_TAIL },	{ "saves", true, false, CUT_TAIL },
		{ "with line", true, false, CUT_TAIL },
	};
	struct text_table t;
	const json_t *list = json_object_get(p, "syncs");
	size_t n = begin_list(v, list, "Where the CPU waits, ms per step", &t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *s = json_array_get(list, i);
		const char *words = report_kind_words(report_string(s, "kind"));
		cell_place(v, &t, s);
		table_cell(&t, "%s", *words ? words : report_string(s, "api"));
		cell_number(&t, s, "per_step", "");
		cell_ms(&t, s, "blocked_ms_per_step");
		cell_ms(&t, s, "gpu_idle_ms_per_step");
		cell_ms(&t, s, "recoverable_ms_per_step");
		cell_ms(&t, s, "line_ms_per_step");
		note_of_sync(&t, s);
	}
	if (!n)
		return;
	end_list(v, list, n, &t);
	text_line(v->out, TEXT_DIM,
		  "  saves: what a step loses if the wait goes; with line: if the whole line goes");
}

/* ---- Code and work ---- */

static void cell_arithmetic(struct text_table *t, const json_t *x)
{
	table_cell(t, "%.3g", report_number(x, "flops") / 1e9);
	if (report_number(x, "tflops") > 0)
		table_cell(t, "%.3g", report_number(x, "tflops"));
	else
		table_cell(t, "-");
	if (json_is_number(json_object_get(x, "peak_pct")))
		table_cell(t, "%.1f %%", report_number(x, "peak_pct"));
	else
		table_cell(t, "-");
}

/* Lines that make matrix products: how much arithmetic, how fast. */
static void say_arithmetic(const struct report_view *v, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "line", false, true, CUT_HEAD },    { "GFLOP", true, false, CUT_TAIL },
		{ "TFLOP/s", true, false, CUT_TAIL }, { "of peak", true, false, CUT_TAIL },
		{ "", false, true, CUT_TAIL },
	};
	struct text_table t;
	json_t *all = json_object_get(p, "lines"), *list = json_array();
	for (size_t i = 0; i < json_array_size(all); i++)
		if (report_number(json_array_get(all, i), "flops") > 0)
			json_array_append(list, json_array_get(all, i));
	size_t n = begin_list(v, list, "Matrix products, per step", &t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(list, i);
		cell_place(v, &t, x);
		cell_arithmetic(&t, x);
		table_cell(&t, "%s", report_string(x, "source"));
	}
	if (n)
		end_list(v, list, n, &t);
	json_decref(list);
}

static void cell_wait(struct text_table *t, const json_t *x)
{
	char ms[NUMBER_BYTES];
	const json_t *wait = json_object_get(x, "wait_ms_per_step");
	if (!json_is_number(wait))
		table_cell(t, "-");
	else if (json_is_integer(json_object_get(x, "last_rank")))
		table_cell(t, "%s for rank %.0f",
			   report_ms(ms, sizeof(ms), json_number_value(wait)),
			   report_number(x, "last_rank"));
	else
		table_cell(t, "%s", report_ms(ms, sizeof(ms), json_number_value(wait)));
}

static void say_collectives(const struct report_view *v, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "call", false, false, CUT_TAIL },  { "ranks", true, false, CUT_TAIL },
		{ "times", true, false, CUT_TAIL },  { "bytes", true, false, CUT_TAIL },
		{ "GPU ms", true, false, CUT_TAIL }, { "bus GB/s", true, false, CUT_TAIL },
		{ "waits", true, false, CUT_TAIL },  { "line", false, true, CUT_HEAD },
	};
	struct text_table t;
	const json_t *list = json_object_get(p, "collectives");
	size_t n = begin_list(v, list, "Collectives, per step", &t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(list, i);
		table_cell(&t, "%s", report_string(x, "name"));
		table_cell(&t, "%.0f", report_number(x, "ranks"));
		cell_number(&t, x, "per_step", "");
		cell_bytes(&t, x, "bytes_per_step");
		cell_ms(&t, x, "gpu_ms_per_step");
		cell_number(&t, x, "bus_gb_per_s", "");
		cell_wait(&t, x);
		cell_place(v, &t, x);
	}
	if (n)
		end_list(v, list, n, &t);
}

static void say_lines(const struct report_view *v, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "line", false, true, CUT_HEAD },   { "GPU ms", true, false, CUT_TAIL },
		{ "CPU ms", true, false, CUT_TAIL }, { "launches", true, false, CUT_TAIL },
		{ "", false, true, CUT_TAIL },
	};
	struct text_table t;
	const json_t *list = json_object_get(p, "lines");
	size_t n = begin_list(v, list, "Lines, per step", &t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(list, i);
		cell_place(v, &t, x);
		cell_ms(&t, x, "gpu_ms_per_step");
		cell_ms(&t, x, "host_ms_per_step");
		cell_number(&t, x, "launches_per_step", "");
		table_cell(&t, "%s", report_string(x, "source"));
	}
	if (n)
		end_list(v, list, n, &t);
}

static void row_of_phase(struct text_table *t, const json_t *x, const char *indent)
{
	table_cell(t, "%s%s", indent, report_string(x, "name"));
	cell_ms(t, x, "host_ms_per_step");
	cell_ms(t, x, "gpu_ms_per_step");
}

/* A phase, and below it those of its parts that have names of their own. */
static void say_phases(const struct report_view *v, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "phase", false, false, CUT_TAIL },
		{ "CPU ms", true, false, CUT_TAIL },
		{ "GPU ms", true, false, CUT_TAIL },
	};
	struct text_table t;
	const json_t *list = json_object_get(p, "phases");
	size_t n = json_array_size(list);
	if (!n)
		return;
	heading(v, "Phases, per step");
	table_start(&t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(list, i), *parts = json_object_get(x, "parts");
		row_of_phase(&t, x, "");
		for (size_t k = 0; k < json_array_size(parts); k++)
			row_of_phase(&t, json_array_get(parts, k), "  ");
	}
	table_end(&t, v->out);
}

static void say_operators(const struct report_view *v, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "operator", false, true, CUT_MIDDLE },
		{ "times", true, false, CUT_TAIL },
		{ "GPU ms", true, false, CUT_TAIL },
		{ "CPU ms", true, false, CUT_TAIL },
	};
	struct text_table t;
	const json_t *list = json_object_get(p, "operators");
	size_t n = begin_list(v, list, "Operators, per step", &t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(list, i);
		table_cell(&t, "%s", report_string(x, "name"));
		cell_number(&t, x, "per_step", "");
		cell_ms(&t, x, "gpu_ms_per_step");
		cell_ms(&t, x, "host_ms_per_step");
	}
	if (n)
		end_list(v, list, n, &t);
}

static void say_kernels(const struct report_view *v, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "kernel", false, true, CUT_MIDDLE }, { "times", true, false, CUT_TAIL },
		{ "GPU ms", true, false, CUT_TAIL },   { "share", true, false, CUT_TAIL },
		{ "", false, false, CUT_TAIL },
	};
	struct text_table t;
	const json_t *list = json_object_get(p, "kernels");
	size_t n = begin_list(v, list, "Kernels, per step", &t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(list, i);
		table_cell(&t, "%s", report_string(x, "name"));
		cell_number(&t, x, "per_step", "");
		cell_ms(&t, x, "gpu_ms_per_step");
		cell_number(&t, x, "pct", " %");
		table_cell(&t, "%s",
			   json_is_true(json_object_get(x, "tensor_core")) ? "tensor cores" : "");
	}
	if (n)
		end_list(v, list, n, &t);
}

static void say_copies(const struct report_view *v, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "copy", false, false, CUT_TAIL }, { "memory", false, true, CUT_TAIL },
		{ "times", true, false, CUT_TAIL }, { "bytes", true, false, CUT_TAIL },
		{ "GB/s", true, false, CUT_TAIL },  { "CPU", false, false, CUT_TAIL },
		{ "line", false, true, CUT_HEAD },
	};
	struct text_table t;
	const json_t *list = json_object_get(p, "copies");
	size_t n = begin_list(v, list, "Copies, per step", &t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(list, i);
		table_cell(&t, "%s", report_string(x, "kind"));
		table_cell(&t, "%s", report_string(x, "memory"));
		cell_number(&t, x, "per_step", "");
		cell_bytes(&t, x, "bytes_per_step");
		cell_number(&t, x, "gb_per_s", "");
		table_cell(&t, "%s",
			   json_is_true(json_object_get(x, "blocking")) ? "waits" : "goes on");
		cell_place(v, &t, x);
	}
	if (n)
		end_list(v, list, n, &t);
}

/* ---- Memory, once, self ---- */

static void say_blocks(const struct report_view *v, const json_t *list, const char *title,
		       const char *bytes_name)
{
	static const struct text_column columns[] = {
		{ "bytes", true, false, CUT_TAIL },
		{ "line", false, true, CUT_HEAD },
	};
	struct text_table t;
	size_t n = begin_list(v, list, title, &t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		cell_bytes(&t, json_array_get(list, i), bytes_name);
		if (*report_string(json_array_get(list, i), "what"))
			table_cell(&t, "%s", report_string(json_array_get(list, i), "what"));
		else
			cell_place(v, &t, json_array_get(list, i));
	}
	if (n)
		end_list(v, list, n, &t);
}

static void say_classes(const struct report_view *v, const json_t *list, const char *title,
			const char *key)
{
	static const struct text_column columns[] = {
		{ "at the peak", true, false, CUT_TAIL },
		{ "most of it", true, false, CUT_TAIL },
		{ "blocks/step", true, false, CUT_TAIL },
		{ "", false, true, CUT_TAIL },
	};
	struct text_table t;
	size_t n = begin_list(v, list, title, &t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(list, i);
		cell_bytes(&t, x, "bytes");
		cell_bytes(&t, x, "peak_bytes");
		cell_number(&t, x, "blocks_per_step", "");
		table_cell(&t, "%s", report_string(x, key));
	}
	if (n)
		end_list(v, list, n, &t);
}

static void say_allocator(const struct report_view *v, const json_t *memory)
{
	const json_t *a = json_object_get(memory, "allocator");
	char allocated[NUMBER_BYTES], reserved[NUMBER_BYTES];
	if (!json_is_object(a))
		return;
	heading(v, "PyTorch's allocator");
	text_line(v->out, TEXT_PLAIN, "  %s allocated at its peak, %s reserved (%.0f %% more)",
		  report_bytes(allocated, sizeof(allocated), report_number(a, "peak_bytes")),
		  report_bytes(reserved, sizeof(reserved), report_number(a, "peak_reserved_bytes")),
		  report_number(a, "peak_bytes") > 0
			  ? 100 * (report_number(a, "peak_reserved_bytes") /
					   report_number(a, "peak_bytes") -
				   1)
			  : 0);
	if (report_number(a, "out_of_memory") > 0)
		text_line(v->out, TEXT_RED, "  %.0f allocations could not be had at all",
			  report_number(a, "out_of_memory"));
	say_classes(v, json_object_get(memory, "by_kind"), "Blocks by what they are for", "kind");
	say_classes(v, json_object_get(memory, "by_phase"), "Blocks by the phase that made them",
		    "phase");
}

static void say_memory(const struct report_view *v, const json_t *p)
{
	char bytes[NUMBER_BYTES], title[120];
	const json_t *memory = json_object_get(p, "memory");
	double retries = report_number(memory, "retries");
	if (report_number(memory, "device_peak_bytes") > 0) {
		snprintf(title, sizeof(title), "Device memory: %s at its peak%s",
			 report_bytes(bytes, sizeof(bytes),
				      report_number(memory, "device_peak_bytes")),
			 json_array_size(json_object_get(memory, "at_peak")) ? ", allocated at"
									     : "");
		if (json_array_size(json_object_get(memory, "at_peak")))
			say_blocks(v, json_object_get(memory, "at_peak"), title, "bytes");
		else
			heading(v, title);
	}
	say_blocks(v, json_object_get(memory, "leaks"),
		   "Memory that grows with every step, bytes per step", "bytes_per_step");
	say_allocator(v, memory);
	if (retries > 0)
		text_line(v->out, TEXT_RED,
			  "  %.1f allocations per step failed at first and were tried again",
			  retries);
}

static void say_once(const struct report_view *v, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "ms", true, false, CUT_TAIL },
		{ "what", false, true, CUT_MIDDLE },
		{ "line", false, true, CUT_HEAD },
	};
	struct text_table t;
	const json_t *list = json_object_get(p, "once");
	size_t n = begin_list(v, list, "Paid once, in the first steps", &t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(list, i);
		cell_ms(&t, x, "ms");
		table_cell(&t, "%s", report_string(x, "what"));
		cell_place(v, &t, x);
	}
	if (n)
		end_list(v, list, n, &t);
}

static void say_advice(const struct report_view *v, const json_t *p)
{
	const json_t *list = json_object_get(p, "advice");
	char place[PLACE_BYTES], lead[64], ms[NUMBER_BYTES];
	if (!json_array_size(list))
		return;
	heading(v, "What to mend, and what a step would lose");
	for (size_t i = 0; i < json_array_size(list) && i < v->top; i++) {
		const json_t *a = json_array_get(list, i);
		snprintf(lead, sizeof(lead), "%9s ms  ",
			 report_ms(ms, sizeof(ms), report_number(a, "expected_ms_per_step")));
		text_wrap(v->out, TEXT_PLAIN, lead, report_string(a, "what"), 3);
		if (json_is_string(json_object_get(a, "where")))
			text_line(v->out, TEXT_PLAIN, "%14s%s  %s", "",
				  report_place(place, sizeof(place), a, v->cwd),
				  report_string(a, "source"));
		text_wrap(v->out, TEXT_PLAIN, "              ", report_string(a, "why"), 4);
	}
}

static void say_self(const struct report_view *v, const json_t *p)
{
	const json_t *self = json_object_get(p, "self"), *cupti = json_object_get(self, "cupti");
	const json_t *losses = json_object_get(self, "losses");
	char ms[NUMBER_BYTES], cost[120];
	const char *name;
	json_t *value;
	heading(v, "What profrun itself cost and lost");
	report_overhead(cost, sizeof(cost), self);
	text_line(v->out, TEXT_PLAIN, "  %s",
		  *cost ? cost : "all steps were recorded, or too few: its cost cannot be told");
	if (report_number(cupti, "own_ms_per_step") >= LEAST_MS)
		text_line(v->out, TEXT_PLAIN, "  CUPTI says that it took %s ms per step itself",
			  report_ms(ms, sizeof(ms), report_number(cupti, "own_ms_per_step")));
	json_object_foreach((json_t *)(size_t)losses, name, value) if (json_number_value(value) > 0)
		text_line(v->out, TEXT_RED, "  %s: %.0f", name, json_number_value(value));
	if (!(report_number(self, "dropped") > 0))
		text_line(v->out, TEXT_PLAIN, "  no record was dropped");
}

static void say_gaps(const struct report_view *v, const json_t *p)
{
	const json_t *list = json_object_get(p, "cannot_say");
	char lead[120];
	if (!json_array_size(list))
		return;
	heading(v, "What cannot be said");
	for (size_t i = 0; i < json_array_size(list); i++) {
		snprintf(lead, sizeof(lead),
			 "  %.60s: ", report_string(json_array_get(list, i), "what"));
		text_wrap(v->out, TEXT_PLAIN, lead, report_string(json_array_get(list, i), "why"),
			  4);
	}
}

void report_pages(const struct report_view *v, const json_t *p)
{
	static void (*const parts[])(const struct report_view *, const json_t *) = {
		say_advice, say_baseline,  say_gpu,	say_idle,	say_phases, say_syncs,
		say_lines,  say_operators, say_kernels, say_arithmetic, say_copies, say_collectives,
		say_memory, say_once,	   say_self,	say_gaps,
	};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		parts[i](v, p);
}
