/*
 * Folded stacks, for flame graphs (flamegraph.pl, speedscope, inferno). One line per stack: its
 * frames from the outermost inwards, separated by semicolons, and its time in microseconds. The
 * first frame says which time it is: "CPU" (between CUDA calls, from host samples), "blocked" (in
 * calls that wait, and in waits between calls) or "GPU" (work, by the stack that launched it, or
 * that captured it into a graph).
 */
#include "export/exporter.h"

#include "core/analysis/host_kinds.h"
#include "core/util/path.h"

#include <inttypes.h>
#include <stdio.h>

enum { LINE_BYTES = 16384 };

struct folded {
	exporter_sink *sink;
	void *context;
	const struct analyzed_step *step;
	struct strtab lines;
	VEC(uint64_t) ns; /* by id of `lines` */
	char line[LINE_BYTES];
	size_t used;
};

/* Appends a frame to the line. Semicolons and line ends separate frames and stacks. */
static void add_frame(struct folded *f, const char *text)
{
	size_t n = strlen(text);
	if (!*text || f->used + n + 2 > sizeof(f->line))
		return;
	if (f->used)
		f->line[f->used++] = ';';
	for (size_t i = 0; i < n; i++)
		f->line[f->used++] = text[i] == ';' || text[i] == '\n' ? ',' : text[i];
	f->line[f->used] = 0;
}

static void begin_line(struct folded *f, const char *what)
{
	f->used = 0;
	f->line[0] = 0;
	add_frame(f, what);
}

/* Returns how many frames to show: without the native frames that start the Python interpreter,
 * which samples of Python code do not have. */
static size_t count_shown(const struct frame_list *list)
{
	size_t n = list->n;
	while (n && list->at[n - 1]->kind != FRAME_KIND_PYTHON)
		n--;
	return n ? n : list->n;
}

static void add_stack(struct folded *f, uint32_t stack)
{
	struct frames *frames = f->step->model->frames;
	char text[1024];
	if (!frames || !stack)
		return;
	struct frame_list list = frames_of(frames, stack);
	for (size_t i = count_shown(&list); i-- > 0;) {
		const struct frame *frame = list.at[i];
		if (frame->line)
			snprintf(text, sizeof(text), "%s (%s:%u)", frame->function,
				 path_base(frame->file), frame->line);
		else
			snprintf(text, sizeof(text), "%s", frame->function);
		add_frame(f, text);
	}
}

static void end_line(struct folded *f, uint64_t ns)
{
	uint32_t id = strtab_intern(&f->lines, f->line);
	while (f->ns.n <= id)
		vec_push(&f->ns, 0);
	f->ns.at[id] += ns;
}

/* ---- The three kinds of time ---- */

static bool is_blocked(uint8_t kind)
{
	return kind == HOST_LOCK || kind == HOST_GIL || kind == HOST_IO || kind == HOST_SLEEP ||
	       kind == HOST_CHILD;
}

static void add_samples(struct folded *f)
{
	const struct lane_samples *s = f->step->idle->host;
	for (size_t i = 0; s && i < s->at.n; i++) {
		const struct lane_sample *x = &s->at.at[i];
		if (!x->weight_ns)
			continue;
		begin_line(f, is_blocked(x->kind) ? "blocked" : "CPU");
		add_stack(f, x->stack);
		if (x->kind != HOST_PYTHON && (x->kind != HOST_NATIVE || !x->stack))
			add_frame(f, host_kinds[x->kind].noun);
		end_line(f, x->weight_ns);
	}
}

static void add_waits(struct folded *f)
{
	const struct model_step *m = f->step->model;
	for (size_t i = 0; i < m->calls.n; i++) {
		const struct model_call *c = &m->calls.at[i];
		if ((c->category != CAT_SYNC && !c->polls) || c->end_ns <= c->begin_ns)
			continue;
		begin_line(f, "blocked");
		add_stack(f, c->stack);
		add_frame(f, strtab_text(&m->tables->names, c->name));
		end_line(f, c->end_ns - c->begin_ns);
	}
}

static void add_works(struct folded *f)
{
	const struct model_step *m = f->step->model;
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		if (w->kind == WORK_SYNC)
			continue;
		begin_line(f, "GPU");
		add_stack(f, model_work_stack(m, w));
		if (w->graph)
			add_frame(f, "[CUDA graph]");
		add_frame(f, strtab_text(&m->tables->names, w->name));
		end_line(f, w->end_ns - w->begin_ns);
	}
}

/* ---- The file ---- */

static int by_text(const void *a, const void *b, void *context)
{
	const struct folded *f = context;
	return strcmp(strtab_text(&f->lines, *(const uint32_t *)a),
		      strtab_text(&f->lines, *(const uint32_t *)b));
}

static void write_lines(struct folded *f)
{
	uint32_t *order = mem_zero((f->ns.n + 1) * sizeof(*order));
	for (uint32_t i = 0; i < f->ns.n; i++)
		order[i] = i;
	qsort_r(order, f->ns.n, sizeof(*order), by_text, f);
	for (size_t i = 0; i < f->ns.n; i++) {
		const char *line = strtab_text(&f->lines, order[i]);
		char number[32];
		uint64_t us = (f->ns.at[order[i]] + 500) / 1000;
		if (!us)
			continue;
		f->sink(f->context, line, strlen(line));
		int n = snprintf(number, sizeof(number), " %" PRIu64 "\n", us);
		f->sink(f->context, number, (size_t)n);
	}
	free(order);
}

static void *begin(exporter_sink *sink, void *context)
{
	struct folded *f = mem_zero(sizeof(*f));
	f->sink = sink;
	f->context = context;
	return f;
}

static void add(void *file, const struct analyzed_step *step)
{
	struct folded *f = file;
	f->step = step;
	add_samples(f);
	add_waits(f);
	add_works(f);
}

static void end(void *file)
{
	struct folded *f = file;
	write_lines(f);
	strtab_free(&f->lines);
	vec_free(&f->ns);
	free(f);
}

const struct exporter exporter_folded = {
	.name = "folded",
	.folder = "folded",
	.suffix = ".folded",
	.noun = "stack file",
	.viewer = "https://www.speedscope.app or flamegraph.pl",
	.is_plain = true,
	.begin = begin,
	.add = add,
	.end = end,
};
