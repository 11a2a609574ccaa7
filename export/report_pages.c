/* See report_pages.h. One table contains all parts. A part is a list, or has its own function. */
#include "export/report_pages.h"

#include "export/report_gains.h"
#include "export/report_lists.h"
#include "export/report_words.h"

#include <limits.h>
#include <string.h>

enum { NUMBER_BYTES = 32, PLACE_BYTES = 600 };

#define COLUMNS(list) (list), sizeof(list) / sizeof(*(list))

/* ---- Steps ---- */

static void row_of_lengths(struct text_table *t, const char *name, const struct sample_summary *s)
{
	if (!s)
		return;
	const double figures[] = { s->mean, s->std, s->min, s->p50, s->p95, s->p99, s->max };
	table_cell(t, "%s", name);
	table_cell(t, "%lld", (long long)s->n);
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		report_cell_ms(t, figures[i]);
}

static void say_baseline(const struct report_view *v)
{
	static const struct text_column columns[] = {
		{ "steps", COLUMN_WORD }, { "n", COLUMN_NUMBER },   { "mean", COLUMN_NUMBER },
		{ "std", COLUMN_NUMBER }, { "min", COLUMN_NUMBER }, { "p50", COLUMN_NUMBER },
		{ "p95", COLUMN_NUMBER }, { "p99", COLUMN_NUMBER }, { "max", COLUMN_NUMBER },
	};
	const struct report_baseline *b = &v->process->baseline;
	struct text_table t;
	if (!b->step_ms)
		return;
	report_heading(v, "Step time, ms");
	table_start(&t, COLUMNS(columns));
	row_of_lengths(&t, "without warm-up", b->step_ms);
	row_of_lengths(&t, "warm-up", b->warm_up_ms);
	row_of_lengths(&t, "recorded", b->recorded_ms);
	table_end(&t, v->out);
}

/* ---- Code and work ---- */

/* Prints the amount and rate of arithmetic of lines with matrix products. */
static void say_arithmetic(const struct report_view *v)
{
	const struct report_process *p = v->process;
	VEC(struct report_line) list = { 0 };
	for (size_t i = 0; i < p->lines.n; i++)
		if (p->lines.at[i].arithmetic.flops > 0)
			vec_push(&list, p->lines.at[i]);
	report_list_say(v, &report_list_arithmetic, list.at, list.n, "Matrix products, per step");
	vec_free(&list);
}

/* Prints the classes of modules, each including the modules within it. Also prints the backward GPU
 * time that no module could be found for. */
static void say_modules(const struct report_view *v)
{
	const struct report_process *p = v->process;
	double all = p->backward.gpu_ms, rest = all - p->backward.tied_gpu_ms;
	char rest_ms[NUMBER_BYTES], all_ms[NUMBER_BYTES], note[160];
	report_list_say(v, &report_list_modules, p->modules.at, p->modules.n, "Modules, per step");
	if (!p->modules.n || !(rest >= REPORT_LEAST_MS))
		return;
	snprintf(note, sizeof(note),
		 "%s of %s ms of backward GPU time could not be assigned to a module",
		 report_ms(rest_ms, sizeof(rest_ms), rest), report_ms(all_ms, sizeof(all_ms), all));
	text_wrap(v->out, TEXT_DIM, "  ", note, 2);
}

static void say_host(const struct report_view *v)
{
	const struct report_process *p = v->process;
	char note[256];
	report_list_say(v, &report_list_host, p->host.at, p->host.n,
			"CPU time between CUDA calls, per step");
	if (!p->host.n || !*p->native_host_stacks)
		return;
	snprintf(note, sizeof(note), "Native host stacks: %s.", p->native_host_stacks);
	text_wrap(v->out, TEXT_DIM, "  ", note, 2);
}

static bool has_graph_phase(const struct report_process *p)
{
	for (size_t i = 0; i < p->phases.n; i++)
		if (isfinite(p->phases.at[i].graph_gpu_ms))
			return true;
	return false;
}

static void row_of_phase(struct text_table *t, const char *indent,
			 const struct report_phase_part *x, bool has_graphs)
{
	table_cell(t, "%s%s", indent, x->name);
	report_cell_ms(t, x->host_ms);
	report_cell_ms(t, x->gpu_ms);
	if (has_graphs)
		report_cell_ms(t, x->graph_gpu_ms);
}

/* Prints each phase, and below it its named parts. */
static void say_phases(const struct report_view *v)
{
	static const struct text_column columns[] = {
		{ "phase", COLUMN_WORD },
		{ "CPU ms", COLUMN_NUMBER },
		{ "GPU ms", COLUMN_NUMBER },
		{ "in graphs", COLUMN_NUMBER },
	};
	struct text_table t;
	const struct report_process *p = v->process;
	bool has_graphs = has_graph_phase(p);
	if (!p->phases.n)
		return;
	report_heading(v, "Phases, per step");
	table_start(&t, columns, has_graphs ? 4 : 3);
	for (size_t i = 0; i < p->phases.n; i++) {
		const struct report_phase *x = &p->phases.at[i];
		const struct report_phase_part all = { x->name, x->host_ms, x->gpu_ms,
						       x->graph_gpu_ms };
		row_of_phase(&t, "", &all, has_graphs);
		for (size_t k = 0; k < x->parts.n; k++)
			row_of_phase(&t, "  ", &x->parts.at[k], has_graphs);
	}
	table_end(&t, v->out);
}

/* ---- Memory ---- */

static void say_blocks(const struct report_view *v, const struct report_memory *m)
{
	report_list_say(v, &report_list_by_kind, m->by_kind.at, m->by_kind.n, "Memory by kind");
	report_list_say(v, &report_list_by_phase, m->by_phase.at, m->by_phase.n,
			"Memory by allocating phase");
}

static void say_allocator(const struct report_view *v)
{
	const struct report_allocator *a = v->process->memory.allocator;
	char allocated[NUMBER_BYTES], reserved[NUMBER_BYTES];
	if (!a)
		return;
	double peak = (double)a->peak_bytes, peak_reserved = (double)a->peak_reserved_bytes;
	report_heading(v, "PyTorch allocator");
	text_line(v->out, TEXT_PLAIN, "  peak allocated %s, reserved %s (%.0f %% more)",
		  report_bytes(allocated, sizeof(allocated), peak),
		  report_bytes(reserved, sizeof(reserved), peak_reserved),
		  peak > 0 ? 100 * (peak_reserved / peak - 1) : 0);
	if (a->out_of_memory > 0)
		text_line(v->out, TEXT_RED, "  %lld allocation%s failed (out of memory)",
			  (long long)a->out_of_memory, a->out_of_memory > 1 ? "s" : "");
	say_blocks(v, &v->process->memory);
}

static void say_peak(const struct report_view *v)
{
	char bytes[NUMBER_BYTES], title[120];
	const struct report_memory *m = &v->process->memory;
	/* a trace of another tool has only what PyTorch's allocator did */
	bool is_device;
	int64_t peak_bytes = report_peak_bytes(m, &is_device);
	if (peak_bytes <= 0)
		return;
	snprintf(title, sizeof(title), "Peak %s: %s%s",
		 is_device ? "device memory" : "memory of PyTorch's allocator",
		 report_bytes(bytes, sizeof(bytes), (double)peak_bytes),
		 m->at_peak.n ? ", by allocating line" : "");
	if (m->at_peak.n)
		report_list_say(v, &report_list_blocks, m->at_peak.at, m->at_peak.n, title);
	else
		report_heading(v, title);
}

static void say_memory(const struct report_view *v)
{
	const struct report_memory *m = &v->process->memory;
	say_peak(v);
	report_list_say(v, &report_list_blocks, m->leaks.at, m->leaks.n,
			"Memory growth, bytes per step");
	say_allocator(v);
	if (m->retries > 0)
		text_line(v->out, TEXT_RED, "  %.1f allocations per step failed and were retried",
			  m->retries);
}

/* ---- In words ---- */

static void say_one_advice(const struct report_view *v, const struct report_advice *a)
{
	char place[PLACE_BYTES], gain[2 * NUMBER_BYTES], inner[PLACE_BYTES];
	report_gain(gain, sizeof(gain), v->process, a);
	text_wrap(v->out, TEXT_PLAIN, gain, a->what, UINT_MAX);
	size_t width = text_width(gain);
	memset(gain, ' ', width);
	gain[width] = 0;
	if (*a->where)
		text_line(v->out, TEXT_PLAIN, "%s%s  %s", gain,
			  report_place(place, sizeof(place), &a->place, v->cwd), a->source);
	if (*report_inner(inner, sizeof(inner), a->inner))
		text_line(v->out, TEXT_PLAIN, "%s  %s", gain, inner);
	if (*report_called_from(inner, sizeof(inner), a->called_from))
		text_line(v->out, TEXT_PLAIN, "%s  in %s, %s", gain, a->place.function, inner);
	text_wrap(v->out, TEXT_PLAIN, gain, a->why, UINT_MAX);
}

static void say_rows_of_advice(const struct report_view *v, bool is_rare)
{
	const struct report_process *p = v->process;
	bool has_heading = !is_rare;
	for (size_t i = 0; i < p->advice.n && i < v->top; i++) {
		if (report_gain_is_rare(&p->advice.at[i]) != is_rare)
			continue;
		if (!has_heading)
			report_gains_rare_heading(v->out, p);
		has_heading = true;
		say_one_advice(v, &p->advice.at[i]);
	}
}

static void say_advice(const struct report_view *v)
{
	if (!v->process->advice.n)
		return;
	text_line(v->out, TEXT_PLAIN, "%s", "");
	report_gains_heading(v->out, v->process);
	say_rows_of_advice(v, false);
	report_gains_sum(v->out, v->process, v->top);
	say_rows_of_advice(v, true);
}

static void say_losses(const struct report_view *v)
{
	static const struct {
		const char *name;
		size_t member;
	} losses[] = {
#define AT(m) offsetof(struct facts_losses, m)
		{ "records dropped", AT(dropped) },
		{ "names dropped", AT(dropped_names) },
		{ "records dropped by CUPTI", AT(dropped_by_cupti) },
		{ "calls not matched to their GPU work", AT(calls_without_gpu_work) },
		{ "GPU work not matched to a call", AT(gpu_work_without_call) },
		{ "records that arrived too late", AT(late) },
		{ "records beyond a step's limit", AT(too_many_in_a_step) },
		{ "damaged places in the journal", AT(damaged_places) },
		{ "records with impossible values", AT(impossible_records) },
#undef AT
	};
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		int64_t n;
		memcpy(&n, (const char *)&v->process->self.losses + losses[i].member, sizeof(n));
		if (n > 0)
			text_line(v->out, TEXT_RED, "  %s: %lld", losses[i].name, (long long)n);
	}
}

static void say_self(const struct report_view *v)
{
	const struct report_self *self = &v->process->self;
	char ms[NUMBER_BYTES], cost[120];
	report_heading(v, "Profiler overhead and losses");
	report_overhead(cost, sizeof(cost), &self->overhead);
	text_line(v->out, TEXT_PLAIN, "  %s",
		  *cost ? cost
			: "recording overhead not available: too few recorded or unrecorded steps");
	if (*report_left(cost, sizeof(cost), &self->overhead))
		text_line(v->out, TEXT_PLAIN, "  %s", cost);
	if (self->cupti.own_ms >= REPORT_LEAST_MS)
		text_line(v->out, TEXT_PLAIN, "  CUPTI reports %s ms of its own overhead per step",
			  report_ms(ms, sizeof(ms), self->cupti.own_ms));
	say_losses(v);
	if (!self->dropped)
		text_line(v->out, TEXT_PLAIN, "  no records dropped");
}

static void say_gaps(const struct report_view *v)
{
	const struct report_process *p = v->process;
	char lead[120];
	if (!p->unavailable.n)
		return;
	report_heading(v, "Not available");
	for (size_t i = 0; i < p->unavailable.n; i++) {
		snprintf(lead, sizeof(lead), "  %.60s: ", p->unavailable.at[i].what);
		text_wrap(v->out, TEXT_PLAIN, lead, p->unavailable.at[i].why, UINT_MAX);
	}
}

/* One group of steps that launch the only graph once says no more than the table of graphs. */
static void say_graph_steps(const struct report_view *v)
{
	const struct report_process *p = v->process;
	if (p->graph_steps.n > 1 || (p->graph_steps.n && p->graph_steps.at[0].most > 1))
		report_list_say(v, &report_list_graph_steps, p->graph_steps.at, p->graph_steps.n,
				"Steps by the CUDA graphs that they launch");
}

/* ---- All parts ---- */

/* A part that is a list: its offset in struct report_process, its title and its columns. */
#define LISTED(m, list, title)                                           \
	{                                                                \
		offsetof(struct report_process, m), title, &(list), NULL \
	}

static const struct part {
	size_t member;
	const char *title;
	const struct report_list *list;
	void (*say)(const struct report_view *v); /* prints a part that is more than a list */
} parts[] = {
	{ .say = say_advice },
	{ .say = say_baseline },
	LISTED(gpu, report_list_gpu, "GPU utilization, per step"),
	LISTED(gpu, report_list_sm, "Use of the multiprocessors"),
	LISTED(use, report_list_use, "GPU time by what runs at once, per step"),
	LISTED(idle, report_list_idle, "GPU idle time by cause, per step"),
	{ .say = say_phases },
	LISTED(syncs, report_list_syncs, "Synchronization, ms per step"),
	LISTED(critical_kinds, report_list_critical_kinds, "Critical path by kind, per step"),
	LISTED(critical, report_list_critical, "Critical path, per step"),
	LISTED(lines, report_list_lines, "Time by line, per step"),
	{ .say = say_host },
	{ .say = say_modules },
	LISTED(operators, report_list_operators, "Operators, ms per step"),
	LISTED(kernels, report_list_kernels, "Kernels, ms per step"),
	LISTED(launches, report_list_launches, "Launches and copies, per step"),
	LISTED(queues, report_list_queues, "Launches and copies that wait in streams, per step"),
	LISTED(delays, report_list_delays, "Operators until their GPU work begins, per step"),
	LISTED(sequences, report_list_sequences, "Kernel sequences by operator, per step"),
	{ .say = say_arithmetic },
	LISTED(graphs, report_list_graphs, "CUDA graphs"),
	{ .say = say_graph_steps },
	LISTED(copies, report_list_copies, "Copies, per step"),
	LISTED(shapes, report_list_shapes, "Operators by the shapes of their inputs, per step"),
	LISTED(collectives, report_list_collectives, "Collectives, per step"),
	{ .say = say_memory },
	LISTED(once, report_list_once, "Startup and warm-up cost"),
	{ .say = say_self },
	{ .say = say_gaps },
};

void report_pages(const struct report_view *v)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const struct part *part = &parts[i];
		LIST(void) items;
		if (part->say) {
			part->say(v);
			continue;
		}
		memcpy(&items, (const char *)v->process + part->member, sizeof(items));
		report_list_say(v, part->list, items.at, items.n, part->title);
	}
}
