/*
 * Writes the steps of a window as torch.profiler (Kineto) writes them, for HTA, TensorBoard's
 * plugin and other readers of that format (docs/kineto.md). Differences from what Kineto writes are
 * deliberate: correlation ids are our own, so that each call has one; waits have no stream, because
 * HTA counts a wait with a stream as GPU work; and no two events of a track overlap without
 * nesting.
 */
#include "core/util/path.h"
#include "export/kineto_parts.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Tracks ---- */

static void process(void *context, const struct trace_process *p)
{
	struct kineto_file *k = context;
	char name[400];
	k->words = p->words;
	if (k->n_steps)
		return;
	snprintf(name, sizeof(name), "%s", *p->command ? p->command : "process");
	kineto_name_process(k, k->pid, name, "CPU", k->pid);
}

/* Returns the id of a track that is not a thread, and names the track. */
static uint32_t made_up_tid(struct kineto_file *k, const struct trace_track *t)
{
	bool is_new;
	uint64_t *tid = map_at(&k->tid_of, trace_mix(t->kind, t->id), &is_new);
	if (is_new) {
		*tid = KINETO_MADE_UP_TID + k->n_made_up++;
		kineto_name_track(k, k->pid, (uint32_t)*tid, t->name, (uint32_t)*tid);
	}
	return (uint32_t)*tid;
}

static void track(void *context, const struct trace_track *t)
{
	struct kineto_file *k = context;
	char name[64];
	k->kind = t->is_group ? 0 : t->kind;
	k->open.n = 0;
	if (k->kind == TRACE_TRACK_THREAD) {
		k->tid = t->tid;
		snprintf(name, sizeof(name), "thread %u (%s)", t->tid, t->name);
		kineto_name_track(k, k->pid, t->tid, name, t->tid);
	} else if (k->kind == TRACE_TRACK_PHASES || k->kind == TRACE_TRACK_RANGES) {
		k->tid = made_up_tid(k, t);
	}
}

/* ---- Slices ---- */

/* A step is an annotation of the thread that launches most. */
static void write_step(struct kineto_file *k, const struct trace_slice *s)
{
	char name[40];
	if (k->m->is_whole_run)
		return;
	snprintf(name, sizeof(name), "ProfilerStep#%" PRIu64, k->m->number);
	kineto_begin(k, "user_annotation", name, k->pid, k->main_tid, s->begin_ns,
		     s->end_ns - KINETO_MARGIN_NS);
	kineto_arg_int(k, "External id", ++k->external);
	kineto_end(k);
}

static void slice(void *context, const struct trace_slice *s)
{
	struct kineto_file *k = context;
	switch (k->kind) {
	case TRACE_TRACK_STEPS:
		write_step(k, s);
		break;
	case TRACE_TRACK_PHASES:
	case TRACE_TRACK_RANGES:
	case TRACE_TRACK_THREAD:
		kineto_cpu_slice(k, s);
		break;
	case TRACE_TRACK_STREAM:
		kineto_gpu_slice(k, s);
		break;
	case TRACE_TRACK_OVERHEAD: /* Kineto shows these as thread 0 of process -1 */
		kineto_begin(k, "overhead", s->text, -1, 0, s->begin_ns, s->end_ns);
		kineto_end(k);
		break;
	default:
		break;
	}
}

static void slice_end(void *context, uint64_t ns)
{
	struct kineto_file *k = context;
	(void)ns;
	if (k->open.n)
		k->open.n--;
}

/* ---- The step ---- */

static int by_event_and_time(const void *a, const void *b)
{
	const struct kineto_record *x = a, *y = b;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* Lists the calls that recorded an event. */
static void find_records(struct kineto_file *k)
{
	const struct model_step *m = k->m;
	k->records.n = 0;
	for (uint32_t i = 0; i < m->calls.n; i++) {
		const struct model_call *c = &m->calls.at[i];
		if (c->category == CAT_EVENT && c->handle &&
		    strstr(strtab_text(&m->tables->names, c->name), "EventRecord"))
			vec_push(&k->records, (struct kineto_record){ c->handle, c->begin_ns, i });
	}
	if (k->records.n)
		qsort(k->records.at, k->records.n, sizeof(*k->records.at), by_event_and_time);
}

/* Returns the thread that steps are shown on. */
static uint32_t main_thread(const struct analyzed_step *step)
{
	const struct model_step *m = step->model;
	size_t thread = step->phases->lanes.n ? step->phases->lanes.at[0].thread : 0;
	return thread < m->threads.n ? m->threads.at[thread].tid : m->pid;
}

static void *begin(exporter_sink *sink, void *context)
{
	struct kineto_file *k = mem_zero(sizeof(*k));
	k->out = (struct json_out){ .sink = sink, .context = context };
	k->correlation = 1;
	return k;
}

/*
 * Moves the step to the end of the step before it if it begins some nanoseconds earlier: live, the
 * clocks are compared again between steps. Slices of a thread must not cross.
 */
static void follow_last_step(struct kineto_file *k)
{
	uint64_t begin_ns = k->m->begin_ns + k->file_shift_ns;
	bool is_early = k->n_steps && begin_ns < k->step_end_ns &&
			k->step_end_ns - begin_ns < CLOCK_STEP_MOST_NS;
	k->shift_ns = k->file_shift_ns + (is_early ? k->step_end_ns - begin_ns : 0);
	k->step_end_ns = k->m->end_ns + k->shift_ns;
}

static void add(void *file, const struct analyzed_step *step)
{
	static const struct trace_visitor visitor = {
		.process = process, .track = track, .slice = slice, .slice_end = slice_end
	};
	struct kineto_file *k = file;
	k->step = step;
	k->m = step->model;
	k->main_tid = main_thread(step);
	k->external_of_call = mem_zero(k->m->calls.n * sizeof(*k->external_of_call));
	k->comm_of_work = mem_zero(k->m->works.n * sizeof(*k->comm_of_work));
	kineto_find_comms(k);
	k->annotations.n = k->covered.n = 0;
	call_waits_look(&k->waits, k->m);
	if (!k->n_steps) {
		k->pid = k->m->pid;
		kineto_write_head(k);
		k->file_shift_ns = k->shift_ns;
		kineto_write_start(k);
	}
	follow_last_step(k);
	/* Python functions come before the rest, because readers take the first of two events with
	 * the same times for the outer one */
	kineto_write_python(k);
	find_records(k);
	trace_walk(step, &visitor, k);
	kineto_write_covered(k);
	kineto_write_memory(k);
	kineto_write_counters(k);
	/* works without a call have correlation ids after those of the calls */
	k->correlation += (uint32_t)(k->m->calls.n + k->m->works.n);
	k->n_steps++;
	free(k->external_of_call);
	free(k->comm_of_work);
}

static void end(void *file)
{
	struct kineto_file *k = file;
	kineto_end_counters(k);
	if (k->n_steps) {
		kineto_write_end(k);
		k->out.at = JSON_PUT_LITERAL(json_room(&k->out, 64),
					     "\n],\n\"traceName\": \"profrun\"}\n");
	}
	json_flush(&k->out);
	json_free(&k->out);
	map_free(&k->tracks);
	map_free(&k->tid_of);
	call_waits_free(&k->waits);
	map_free(&k->line_of_function);
	map_free(&k->instance_of);
	map_free(&k->n_instances);
	vec_free(&k->annotations);
	vec_free(&k->covered);
	vec_free(&k->records);
	vec_free(&k->open);
	free(k);
}

/* Writes <host>_<pid>.<ns>.pt.trace.json.gz, by which readers tell the ranks of a job and the
 * windows of a rank. */
static void name_file(const struct model_step *first, char *to, size_t bytes)
{
	const char *host = tables_fact(first->tables, "host");
	uint64_t ns = first->clock.realtime_ns + first->begin_ns - first->clock.monotonic_ns;
	snprintf(to, bytes, "%.200s_%u.%" PRIu64 ".pt.trace.json.gz",
		 host && *host ? path_base(host) : "host", first->pid, ns);
}

const struct exporter exporter_kineto = {
	.name = "kineto",
	.folder = "kineto",
	.suffix = ".pt.trace.json.gz",
	.noun = "Kineto trace",
	.viewer = "HTA or TensorBoard (torch-tb-profiler)",
	.has_windows = true,
	.name_file = name_file,
	.begin = begin,
	.add = add,
	.end = end,
};
