/*
 * See trace_walk.h. Walks the process, the step itself, counters and notes, and calls the other
 * parts in the right order.
 *
 * Within a process's group, Perfetto's UI shows threads first. Then it shows all other tracks in
 * byte order of their names, whatever order the trace requests. So the names are chosen to give the
 * right order: "Critical path", "GPU 0 Stream 7", "Modules", "Phases", "Steps", then counters and
 * notes, which begin with a small letter.
 */
#include "export/trace_walk_parts.h"

static void walk_process(struct walk *w)
{
	const struct model_step *m = w->m;
	if (w->visitor->process)
		w->visitor->process(w->context, &(struct trace_process){ .words = &w->words,
									 .pid = m->pid,
									 .start = m->process_start,
									 .command = m->command,
									 .step = m->number,
									 .clock = m->clock });
}

static void walk_step(struct walk *w)
{
	const struct model_step *m = w->m;
	char name[64];
	snprintf(name, sizeof(name), m->is_whole_run ? "whole run" : "step %llu",
		 (unsigned long long)m->number);
	walk_track(w, &(struct trace_track){ .kind = TRACE_TRACK_STEPS,
					     .name = "Steps",
					     .begin_ns = m->begin_ns });
	walk_slice_named(w, TRACE_CATEGORY_STEP, name, m->begin_ns, m->end_ns);
	walk_uint(w, TRACE_ARG_NUMBER, m->number);
	walk_text(w, TRACE_ARG_DETECTOR, m->detector);
	walk_text(w, TRACE_ARG_ACTION, model_action_name(m->action));
	walk_uint(w, TRACE_ARG_CALLS, m->calls.n);
	walk_uint(w, TRACE_ARG_WORKS, m->works.n);
	if (m->is_cut)
		walk_uint(w, m->is_lost ? TRACE_ARG_LOST : TRACE_ARG_CUT, 1);
	walk_leaf(w);
	w->slice.text = NULL; /* `name` is not valid after this function */
}

static int compare_notes(const void *a, const void *b)
{
	const struct model_note *const *x = a, *const *y = b;
	if ((*x)->ns != (*y)->ns)
		return (*x)->ns < (*y)->ns ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

/* Walks the notes in order of time, which the model does not guarantee. */
static void walk_notes(struct walk *w)
{
	size_t n = w->m->notes.n;
	if (!n)
		return;
	const struct model_note **notes = mem_zero(n * sizeof(*notes));
	for (size_t i = 0; i < n; i++)
		notes[i] = &w->m->notes.at[i];
	qsort(notes, n, sizeof(*notes), compare_notes);
	walk_track(w, &(struct trace_track){ .kind = TRACE_TRACK_NOTES,
					     .name = "profrun notes",
					     .begin_ns = notes[0]->ns });
	for (size_t i = 0; i < n; i++) {
		walk_slice_named(w, TRACE_CATEGORY_NOTE, notes[i]->text, notes[i]->ns,
				 notes[i]->ns);
		walk_instant(w);
	}
	free(notes);
}

/* Returns a number for the counter that is the same in all steps. */
static uint64_t counter_id(const struct model_counter *c)
{
	uint64_t id = c->device;
	for (const char *at = c->name; *at; at++)
		id = trace_mix(id, (unsigned char)*at);
	return id;
}

static void walk_counter(struct walk *w, const struct model_counter *c)
{
	walk_track(w, &(struct trace_track){ .kind = TRACE_TRACK_COUNTER,
					     .id = counter_id(c),
					     .name = c->name,
					     .parent = walk_gpu_group(w, c->device),
					     .device = c->device,
					     .unit = c->unit,
					     .begin_ns = c->points.n ? c->points.at[0].ns : 0 });
	for (size_t i = 0; i < c->points.n && w->visitor->point; i++) {
		w->now_ns = c->points.at[i].ns > w->now_ns ? c->points.at[i].ns : w->now_ns;
		w->visitor->point(w->context, w->now_ns, c->points.at[i].value);
	}
}

void trace_walk(const struct analyzed_step *step, const struct trace_visitor *visitor,
		void *context)
{
	const struct model_step *m = step->model;
	struct trace_track gpus[DEVICE_UNKNOWN] = { 0 };
	struct walk w = { .visitor = visitor,
			  .context = context,
			  .step = step,
			  .m = m,
			  .words.names = &m->tables->names,
			  .stacks.frames = m->frames,
			  .gpus = gpus };
	w.stacks.words = &w.words;
	walk_process(&w);
	walk_step(&w);
	walk_notes(&w);
	walk_critical(&w);
	walk_phases(&w);
	walk_modules(&w);
	walk_threads(&w);
	walk_started_ranges(&w);
	walk_samples(&w);
	walk_gpus(&w);
	for (size_t i = 0; i < m->counters.n; i++)
		walk_counter(&w, &m->counters.at[i]);
	walk_overheads(&w);
	trace_stacks_free(&w.stacks);
	strtab_free(&w.words.own);
}
