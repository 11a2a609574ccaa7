/* See report_pages.h: one table of parts; those that are no mere list have a function. */
#include "export/report_pages.h"

#include "export/report_gains.h"
#include "export/report_lists.h"
#include "export/report_words.h"

#include <string.h>

enum { NUMBER_BYTES = 32, PLACE_BYTES = 600 };

#define LEAST_MS 0.0005 /* less is 0.000 */

#define COLUMNS(list) (list), sizeof(list) / sizeof(*(list))

/* ---- Steps ---- */

static void row_of_lengths(struct text_table *t, const char *name, const json_t *s)
{
	static const char *const figures[] = { "mean", "std", "min", "p50", "p95", "p99", "max" };
	if (!json_is_object(s))
		return;
	table_cell(t, "%s", name);
	table_cell(t, "%.0f", report_number(s, "n"));
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		report_cell_ms(t, s, figures[i]);
}

static void say_baseline(const struct report_view *v)
{
	static const struct text_column columns[] = {
		{ "steps", COLUMN_WORD }, { "n", COLUMN_NUMBER },   { "mean", COLUMN_NUMBER },
		{ "std", COLUMN_NUMBER }, { "min", COLUMN_NUMBER }, { "p50", COLUMN_NUMBER },
		{ "p95", COLUMN_NUMBER }, { "p99", COLUMN_NUMBER }, { "max", COLUMN_NUMBER },
	};
	const json_t *baseline = json_object_get(v->process, "baseline");
	struct text_table t;
	if (!json_is_object(json_object_get(baseline, "step_ms")))
		return;
	report_heading(v, "Length of steps, ms");
	table_start(&t, COLUMNS(columns));
	row_of_lengths(&t, "all but warm-up", json_object_get(baseline, "step_ms"));
	row_of_lengths(&t, "warm-up", json_object_get(baseline, "warm_up_ms"));
	row_of_lengths(&t, "recorded", json_object_get(baseline, "recorded_ms"));
	table_end(&t, v->out);
}

/* ---- Code and work ---- */

/* Lines that make matrix products: how much arithmetic, how fast. */
static void say_arithmetic(const struct report_view *v)
{
	json_t *all = json_object_get(v->process, "lines"), *list = json_array();
	for (size_t i = 0; i < json_array_size(all); i++)
		if (report_number(json_array_get(all, i), "flops") > 0)
			json_array_append(list, json_array_get(all, i));
	report_list_say(v, &report_list_arithmetic, list, "Matrix products, per step");
	json_decref(list);
}

/* Classes, each with what lies within it; and how much of the backward passes is nobody's. */
static void say_modules(const struct report_view *v)
{
	const json_t *list = json_object_get(v->process, "modules"),
		     *backward = json_object_get(v->process, "backward");
	double all = report_number(backward, "gpu_ms_per_step"),
	       rest = all - report_number(backward, "tied_gpu_ms_per_step");
	char rest_ms[NUMBER_BYTES], all_ms[NUMBER_BYTES], note[160];
	report_list_say(v, &report_list_modules, list, "Modules, per step");
	if (!json_array_size(list) || rest < LEAST_MS)
		return;
	snprintf(note, sizeof(note),
		 "of the backward passes' %s ms on the GPU it isn't known whose %s are",
		 report_ms(all_ms, sizeof(all_ms), all), report_ms(rest_ms, sizeof(rest_ms), rest));
	text_wrap(v->out, TEXT_DIM, "  ", note, 2);
}

static void row_of_phase(struct text_table *t, const json_t *x, const char *indent)
{
	table_cell(t, "%s%s", indent, report_string(x, "name"));
	report_cell_ms(t, x, "host_ms_per_step");
	report_cell_ms(t, x, "gpu_ms_per_step");
}

/* A phase, and below it those of its parts that have names of their own. */
static void say_phases(const struct report_view *v)
{
	static const struct text_column columns[] = {
		{ "phase", COLUMN_WORD },
		{ "CPU ms", COLUMN_NUMBER },
		{ "GPU ms", COLUMN_NUMBER },
	};
	struct text_table t;
	const json_t *list = json_object_get(v->process, "phases");
	size_t n = json_array_size(list);
	if (!n)
		return;
	report_heading(v, "Phases, per step");
	table_start(&t, COLUMNS(columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(list, i), *parts = json_object_get(x, "parts");
		row_of_phase(&t, x, "");
		for (size_t k = 0; k < json_array_size(parts); k++)
			row_of_phase(&t, json_array_get(parts, k), "  ");
	}
	table_end(&t, v->out);
}

/* ---- Memory ---- */

static void say_allocator(const struct report_view *v, const json_t *memory)
{
	const json_t *a = json_object_get(memory, "allocator");
	char allocated[NUMBER_BYTES], reserved[NUMBER_BYTES];
	if (!json_is_object(a))
		return;
	report_heading(v, "PyTorch's allocator");
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
	report_list_say(v, &report_list_by_kind, json_object_get(memory, "by_kind"),
			"Blocks by what they are for");
	report_list_say(v, &report_list_by_phase, json_object_get(memory, "by_phase"),
			"Blocks by the phase that made them");
}

static void say_peak(const struct report_view *v, const json_t *memory)
{
	char bytes[NUMBER_BYTES], title[120];
	const json_t *at_peak = json_object_get(memory, "at_peak");
	double peak = report_number(memory, "device_peak_bytes");
	bool is_known = json_array_size(at_peak);
	if (!(peak > 0))
		return;
	snprintf(title, sizeof(title), "Device memory: %s at its peak%s",
		 report_bytes(bytes, sizeof(bytes), peak), is_known ? ", allocated at" : "");
	if (is_known)
		report_list_say(v, &report_list_at_peak, at_peak, title);
	else
		report_heading(v, title);
}

static void say_memory(const struct report_view *v)
{
	const json_t *memory = json_object_get(v->process, "memory");
	double retries = report_number(memory, "retries");
	say_peak(v, memory);
	report_list_say(v, &report_list_leaks, json_object_get(memory, "leaks"),
			"Memory that grows with every step, bytes per step");
	say_allocator(v, memory);
	if (retries > 0)
		text_line(v->out, TEXT_RED,
			  "  %.1f allocations per step failed at first and were tried again",
			  retries);
}

/* ---- In words ---- */

static void say_one_advice(const struct report_view *v, const json_t *a)
{
	char place[PLACE_BYTES], gain[2 * NUMBER_BYTES], inner[PLACE_BYTES];
	report_gain(gain, sizeof(gain), v->process, a);
	text_wrap(v->out, TEXT_PLAIN, gain, report_string(a, "what"), 3);
	memset(gain, ' ', strlen(gain));
	if (json_is_string(json_object_get(a, "where")))
		text_line(v->out, TEXT_PLAIN, "%s%s  %s", gain,
			  report_place(place, sizeof(place), a, v->cwd),
			  report_string(a, "source"));
	if (*report_inner(inner, sizeof(inner), a))
		text_line(v->out, TEXT_PLAIN, "%s  %s", gain, inner);
	text_wrap(v->out, TEXT_PLAIN, gain, report_string(a, "why"), 4);
}

static void say_rows_of_advice(const struct report_view *v, bool is_rare)
{
	const json_t *list = json_object_get(v->process, "advice");
	bool has_heading = !is_rare;
	for (size_t i = 0; i < json_array_size(list) && i < v->top; i++) {
		const json_t *a = json_array_get(list, i);
		if (report_gain_is_rare(a) != is_rare)
			continue;
		if (!has_heading)
			report_gains_rare_heading(v->out, v->process);
		has_heading = true;
		say_one_advice(v, a);
	}
}

static void say_advice(const struct report_view *v)
{
	if (!json_array_size(json_object_get(v->process, "advice")))
		return;
	text_line(v->out, TEXT_PLAIN, "%s", "");
	report_gains_heading(v->out, v->process);
	say_rows_of_advice(v, false);
	report_gains_sum(v->out, v->process, v->top);
	say_rows_of_advice(v, true);
}

static void say_self(const struct report_view *v)
{
	const json_t *self = json_object_get(v->process, "self"),
		     *cupti = json_object_get(self, "cupti");
	const json_t *losses = json_object_get(self, "losses");
	char ms[NUMBER_BYTES], cost[120];
	const char *name;
	json_t *value;
	report_heading(v, "What profrun itself cost and lost");
	report_overhead(cost, sizeof(cost), self);
	text_line(v->out, TEXT_PLAIN, "  %s",
		  *cost ? cost : "all steps were recorded, or too few: its cost cannot be told");
	if (*report_left(cost, sizeof(cost), self))
		text_line(v->out, TEXT_PLAIN, "  %s", cost);
	if (report_number(cupti, "own_ms_per_step") >= LEAST_MS)
		text_line(v->out, TEXT_PLAIN, "  CUPTI says that it took %s ms per step itself",
			  report_ms(ms, sizeof(ms), report_number(cupti, "own_ms_per_step")));
	json_object_foreach((json_t *)(size_t)losses, name, value) if (json_number_value(value) > 0)
		text_line(v->out, TEXT_RED, "  %s: %.0f", name, json_number_value(value));
	if (!(report_number(self, "dropped") > 0))
		text_line(v->out, TEXT_PLAIN, "  no record was dropped");
}

static void say_gaps(const struct report_view *v)
{
	const json_t *list = json_object_get(v->process, "unavailable");
	char lead[120];
	if (!json_array_size(list))
		return;
	report_heading(v, "What cannot be said");
	for (size_t i = 0; i < json_array_size(list); i++) {
		snprintf(lead, sizeof(lead),
			 "  %.60s: ", report_string(json_array_get(list, i), "what"));
		text_wrap(v->out, TEXT_PLAIN, lead, report_string(json_array_get(list, i), "why"),
			  4);
	}
}

/* ---- All parts ---- */

static const struct part {
	const char *member, *title; /* a list of the process */
	const struct report_list *list;
	void (*say)(const struct report_view *v); /* what is none */
} parts[] = {
	{ NULL, NULL, NULL, say_advice },
	{ NULL, NULL, NULL, say_baseline },
	{ "gpu", "GPU, per step", &report_list_gpu, NULL },
	{ "idle", "Why the GPU was idle, per step", &report_list_idle, NULL },
	{ NULL, NULL, NULL, say_phases },
	{ "syncs", "Where the CPU waits, ms per step", &report_list_syncs, NULL },
	{ "lines", "Lines, per step", &report_list_lines, NULL },
	{ NULL, NULL, NULL, say_modules },
	{ "operators", "Operators, per step", &report_list_operators, NULL },
	{ "kernels", "Kernels, per step", &report_list_kernels, NULL },
	{ NULL, NULL, NULL, say_arithmetic },
	{ "copies", "Copies, per step", &report_list_copies, NULL },
	{ "collectives", "Collectives, per step", &report_list_collectives, NULL },
	{ NULL, NULL, NULL, say_memory },
	{ "once", "Paid once, in the first steps", &report_list_once, NULL },
	{ NULL, NULL, NULL, say_self },
	{ NULL, NULL, NULL, say_gaps },
};

void report_pages(const struct report_view *v)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const struct part *part = &parts[i];
		if (part->say)
			part->say(v);
		else
			report_list_say(v, part->list, json_object_get(v->process, part->member),
					part->title);
	}
}
