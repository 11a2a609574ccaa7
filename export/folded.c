/*
 * Folded stacks, for flame graphs (flamegraph.pl, speedscope, inferno). One line per stack: its
 * frames from the outermost inwards, separated by semicolons, and its time in microseconds. The
 * first frame says which time it is, see stack_times.h.
 */
#include "export/exporter.h"
#include "export/stack_times.h"

#include "core/util/path.h"

#include <inttypes.h>
#include <stdio.h>

enum { LINE_BYTES = 16384 };

struct folded {
	exporter_sink *sink;
	void *context;
	const struct model_step *m;
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

static void add_stack(struct folded *f, uint32_t stack)
{
	char text[1024];
	struct frame_list list = stack_times_frames(f->m, stack);
	for (size_t i = list.n; i-- > 0;) {
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

static void take(void *context, const struct stack_time *t)
{
	static const char *const words[STACK_KINDS] = {
		[STACK_CPU] = "CPU", [STACK_BLOCKED] = "blocked", [STACK_GPU] = "GPU"
	};
	struct folded *f = context;
	if (!words[t->kind]) /* the file has times only */
		return;
	begin_line(f, words[t->kind]);
	add_stack(f, t->stack);
	for (size_t i = 0; t->more[i]; i++)
		add_frame(f, t->more[i]);
	end_line(f, t->value);
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
	f->m = step->model;
	stack_times_walk(step, take, f);
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
