/* Lists of the report: lines, operators, kernels, copies and what else the work consists of. */
#include "export/report_list_parts.h"

#include "export/kernel_words.h"
#include "export/report_words.h"

#include <math.h>
#include <string.h>

enum { GRAPHS_SAID = 6 };

#define AT(m) offsetof(struct report_line, m)

static void cell_gflop(const struct row *r, size_t member)
{
	table_cell(r->t, "%.3g", report_or_zero(list_number(r, member)) / 1e9);
}

static void cell_rate(const struct row *r, size_t member)
{
	if (list_number(r, member) > 0)
		table_cell(r->t, "%.3g", list_number(r, member));
	else
		table_cell(r->t, "-");
}

static void cell_of_peak(const struct row *r, size_t member)
{
	if (isfinite(list_number(r, member)))
		table_cell(r->t, "%.1f %%", list_number(r, member));
	else
		table_cell(r->t, "-");
}

static const struct list_column arithmetic_columns[] = {
	{ "line", COLUMN_PLACE, list_cell_place, AT(place) },
	{ "GFLOP", COLUMN_NUMBER, cell_gflop, AT(arithmetic.flops) },
	{ "TFLOP/s", COLUMN_NUMBER, cell_rate, AT(arithmetic.tflops) },
	{ "% of peak", COLUMN_NUMBER, cell_of_peak, AT(arithmetic.peak_pct) },
	{ "", COLUMN_TEXT, list_cell_text, AT(source) },
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
	{ "line", COLUMN_PLACE, list_cell_place, AT(place) },
	{ "GPU ms", COLUMN_NUMBER, list_cell_ms, AT(gpu_ms) },
	{ "in graphs", COLUMN_NUMBER, list_cell_known_ms, AT(graph_gpu_ms) },
	{ "CPU ms", COLUMN_NUMBER, list_cell_ms, AT(host_ms) },
	{ "launches", COLUMN_NUMBER, list_cell_number, AT(launches) },
	{ "", COLUMN_TEXT, list_cell_text, AT(source) },
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
		list_cell_place_or_dash(r, member);
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
	{ "self ms", COLUMN_NUMBER, list_cell_ms, AT(self_ms) },
	{ "total", COLUMN_NUMBER, list_cell_ms, AT(total_ms) },
	{ "kind", COLUMN_WORD, list_cell_text, AT(kind) },
	{ "samples", COLUMN_NUMBER, list_cell_integer, AT(samples) },
	{ "", COLUMN_TEXT, list_cell_text, AT(source) },
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
	{ "operator", COLUMN_NAME, list_cell_text, AT(name) },
	{ "times", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "GPU ms", COLUMN_NUMBER, list_cell_ms, AT(gpu_ms) },
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
	report_ms_or_dash(ms, sizeof(ms), list_number(r, member));
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
	{ "call", COLUMN_WORD, list_cell_text, AT(name) },
	{ "ranks", COLUMN_NUMBER, list_cell_integer, AT(ranks) },
	{ "calls", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "bytes", COLUMN_NUMBER, list_cell_bytes, AT(bytes) },
	{ "GPU ms", COLUMN_NUMBER, list_cell_ms, AT(gpu_ms) },
	{ "bus GB/s", COLUMN_NUMBER, list_cell_number, AT(bus_gb_per_s) },
	{ "wait ms", COLUMN_NUMBER, cell_wait, AT(wait_ms) },
};
TABLE(collectives, report_collective, .note = note_of_collective);

#undef AT
#define AT(m) offsetof(struct report_module, m)

static const struct list_column modules_columns[] = {
	{ "module", COLUMN_NAME, list_cell_text, AT(name) },
	{ "calls", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "GPU ms", COLUMN_NUMBER, list_cell_ms, AT(gpu_ms) },
	{ "backward GPU", COLUMN_NUMBER, list_cell_ms, AT(backward_gpu_ms) },
	{ "in graphs", COLUMN_NUMBER, list_cell_known_ms, AT(graph_gpu_ms) },
	{ "CPU ms", COLUMN_NUMBER, list_cell_ms, AT(host_ms) },
};
TABLE(modules, report_module);

#undef AT
#define AT(m) offsetof(struct report_operator, m)

/* Writes the average per call; `member` is the total per step. */
static const struct list_column operators_columns[] = {
	{ "operator", COLUMN_NAME, list_cell_text, AT(name) },
	{ "calls", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "self GPU", COLUMN_NUMBER, list_cell_ms, AT(self_gpu_ms) },
	{ "total", COLUMN_NUMBER, list_cell_ms, AT(gpu_ms) },
	{ "avg", COLUMN_NUMBER, list_cell_operator_average, AT(gpu_ms) },
	{ "self CPU", COLUMN_NUMBER, list_cell_ms, AT(self_host_ms) },
	{ "total", COLUMN_NUMBER, list_cell_ms, AT(host_ms) },
	{ "in graphs", COLUMN_NUMBER, list_cell_known_ms, AT(graph_gpu_ms) },
	{ "avg", COLUMN_NUMBER, list_cell_host_average, AT(host_ms) },
};
TABLE(operators, report_operator,
      .legend = "total: includes nested operators; avg: total per call. Operators that launch no "
		"GPU work are not listed. An operator's CPU time starts at its first allocation or "
		"CUDA call.");

#undef AT
#define AT(m) offsetof(struct report_kernel, m)

static void cell_tensor_core(const struct row *r, size_t member)
{
	table_cell(r->t, "%s", list_truth(r, member) ? "tensor cores" : "");
}

/* Writes the short name, or the full name if another kernel has the same short name. */
static void cell_kernel(const struct row *r, size_t member)
{
	char name[TEXT_BYTES], other[TEXT_BYTES];
	const struct report_process *p = r->v->process;
	kernel_short(name, sizeof(name), list_text(r, member));
	for (size_t i = 0; i < p->kernels.n; i++) {
		kernel_short(other, sizeof(other), p->kernels.at[i].name);
		if (!strcmp(name, other) &&
		    strcmp(p->kernels.at[i].name, list_text(r, member)) != 0) {
			list_cell_text(r, member);
			return;
		}
	}
	table_cell(r->t, "%s", name);
}

static void cell_kernel_average(const struct row *r, size_t member)
{
	const struct report_kernel *x = (const struct report_kernel *)(const void *)r->item;
	list_cell_average(r, list_number(r, member), x->per_step);
}

static const struct list_column kernels_columns[] = {
	{ "kernel", COLUMN_NAME, cell_kernel, AT(name) },
	{ "calls", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "GPU ms", COLUMN_NUMBER, list_cell_ms, AT(gpu_ms) },
	{ "in graphs", COLUMN_NUMBER, list_cell_known_ms, AT(graph_gpu_ms) },
	{ "avg", COLUMN_NUMBER, cell_kernel_average, AT(gpu_ms) },
	{ "share", COLUMN_NUMBER, list_cell_percent, AT(pct) },
	{ "", COLUMN_WORD, cell_tensor_core, AT(tensor_core) },
};
TABLE(kernels, report_kernel);

#undef AT
#define AT(m) offsetof(struct report_critical_kind, m)

static const struct list_column critical_kinds_columns[] = {
	{ "ms", COLUMN_NUMBER, list_cell_ms, AT(ms) },
	{ "of the path", COLUMN_NUMBER, list_cell_percent, AT(pct) },
	{ "kind", COLUMN_TEXT, list_cell_text, AT(what) },
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
	{ "ms", COLUMN_NUMBER, list_cell_ms, AT(ms) },
	{ "of the path", COLUMN_NUMBER, list_cell_percent, AT(pct) },
	{ "links", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "kind", COLUMN_TEXT, list_cell_text, AT(what) },
	{ "name", COLUMN_NAME, cell_critical_name, AT(name) },
	{ "line", COLUMN_PLACE, list_cell_place_or_dash, AT(place) },
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
	{ "graph", COLUMN_NUMBER, list_cell_integer, AT(graph) },
	{ "captured at", COLUMN_PLACE, list_cell_place_or_dash, AT(place) },
	{ "launches", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "nodes", COLUMN_NUMBER, list_cell_integer, AT(nodes) },
	{ "GPU ms", COLUMN_NUMBER, list_cell_ms, AT(gpu_ms) },
	{ "idle ms", COLUMN_NUMBER, list_cell_ms, AT(idle_ms) },
	{ "steps", COLUMN_NUMBER, list_cell_integer, AT(steps) },
	{ "step ms", COLUMN_NUMBER, list_cell_ms, AT(step_ms) },
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
	{ "steps", COLUMN_NUMBER, list_cell_integer, AT(steps) },
	{ "step ms", COLUMN_NUMBER, list_cell_ms, AT(step_ms) },
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
	table_cell(r->t, "%s", list_truth(r, member) ? "blocking" : "async");
}

static const struct list_column copies_columns[] = {
	{ "copy", COLUMN_WORD, list_cell_text, AT(kind) },
	{ "memory", COLUMN_TEXT, list_cell_text, AT(memory) },
	{ "calls", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "bytes", COLUMN_NUMBER, list_cell_bytes, AT(bytes) },
	{ "GB/s", COLUMN_NUMBER, list_cell_number, AT(gb_per_s) },
	{ "", COLUMN_WORD, cell_blocking, AT(blocking) },
	{ "line", COLUMN_PLACE, list_cell_place, AT(place) },
};
TABLE(copies, report_copy);
