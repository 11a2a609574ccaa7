/*
 * Writes steps as a Perfetto trace. Uses only TrackEvents, because every version of Perfetto shows
 * them in the intended groups. If slices of a track overlapped without nesting, Perfetto would
 * silently show wrong lengths. trace_walk() guarantees that slices nest.
 */
#include "export/exporter.h"
#include "export/perfetto_as.h"
#include "export/perfetto_writer.h"
#include "export/trace_walk.h"

/* Pids of numbered processes lie this far apart; their threads lie between. */
enum { PIDS_APART = 100000 };

struct encoder {
	struct perfetto_writer w;
	struct perfetto_as *as;
	uint32_t pid;
	uint64_t salt; /* part of each track's id; the same in all traces of a process */
	uint64_t flow; /* id of the first arrow; no two traces have the same arrows */
};

/* ---- Tracks ---- */

/* Returns the track's id. It is below 2^63, because SQL's integers are signed. It is not 0, which
 * is Perfetto's "no track". */
static uint64_t track_uuid(const struct encoder *e, enum trace_track_kind kind, uint64_t id)
{
	return trace_mix(e->salt, trace_mix(kind, id)) >> 1 | 1;
}

static uint32_t shown_pid(const struct encoder *e)
{
	return e->as->number ? e->as->number * PIDS_APART : e->pid;
}

/* The main thread has the process's number, which is how Perfetto recognizes it. */
static uint32_t shown_tid(struct encoder *e, uint32_t tid)
{
	size_t i = 0;
	if (!e->as->number)
		return tid;
	if (tid == e->pid)
		return shown_pid(e);
	while (i < e->as->threads.n && e->as->threads.at[i] != tid)
		i++;
	if (i == e->as->threads.n)
		vec_push(&e->as->threads, tid);
	return shown_pid(e) + 1 + (uint32_t)i;
}

static void name_process(struct encoder *e, struct pb *b, const char *command)
{
	char name[400];
	if (!e->as->name)
		snprintf(name, sizeof(name), "%s", command);
	else
		snprintf(name, sizeof(name), "%s (pid %u)%s%s", e->as->name, e->pid,
			 command[0] ? ": " : "", command);
	if (name[0])
		pb_text(b, PROCESS_NAME, name);
}

static void process(void *context, const struct trace_process *p)
{
	struct encoder *e = context;
	struct pb *b = &e->w.out;
	e->pid = p->pid;
	e->salt = trace_mix(p->pid, p->start);
	if (e->as->salt)
		e->salt = trace_mix(e->salt, e->as->salt);
	e->flow = trace_mix(e->salt, p->step) & ~0xffffffffull;
	perfetto_begin_trace(&e->w, p->words, e->as->is_first ? &p->clock : NULL);
	struct perfetto_place place =
		perfetto_track_begin(&e->w, track_uuid(e, TRACE_TRACK_PROCESS, 0), 0, NULL);
	uint8_t *body = pb_begin(b, TRACK_PROCESS);
	pb_uint(b, PROCESS_PID, shown_pid(e));
	name_process(e, b, p->command);
	pb_end(b, body);
	perfetto_track_end(&e->w, place);
}

static void describe_thread(struct encoder *e, struct pb *b, const struct trace_track *t)
{
	uint8_t *body = pb_begin(b, TRACK_THREAD);
	pb_uint(b, THREAD_PID, shown_pid(e));
	pb_uint(b, THREAD_TID, shown_tid(e, t->tid));
	if (t->name[0])
		pb_text(b, THREAD_NAME, t->name);
	pb_end(b, body);
}

static void describe_counter(struct pb *b, const struct trace_track *t)
{
	uint8_t *body = pb_begin(b, TRACK_COUNTER);
	pb_uint(b, COUNTER_UNIT, t->unit == UNIT_BYTES ? COUNTER_UNIT_BYTES : COUNTER_UNIT_COUNT);
	pb_end(b, body);
}

/* Returns whether the track must not be merged with others. The UI merges tracks of the same name,
 * but streams or counters of several devices may have the same name. */
static bool is_separate(const struct trace_track *t)
{
	return t->is_ranked || t->kind == TRACE_TRACK_COUNTER;
}

static void track(void *context, const struct trace_track *t)
{
	struct encoder *e = context;
	struct pb *b = &e->w.out;
	uint64_t uuid = track_uuid(e, t->kind, t->id);
	uint64_t parent = t->parent ? track_uuid(e, t->parent->kind, t->parent->id)
				    : track_uuid(e, TRACE_TRACK_PROCESS, 0);
	bool is_thread = t->kind == TRACE_TRACK_THREAD;
	struct perfetto_place place =
		perfetto_track_begin(&e->w, uuid, parent, is_thread ? NULL : t->name);
	if (is_thread)
		describe_thread(e, b, t);
	else if (t->kind == TRACE_TRACK_COUNTER)
		describe_counter(b, t);
	if (t->description)
		pb_text(b, TRACK_DESCRIPTION, t->description);
	if (t->kind == TRACE_TRACK_GPU)
		pb_uint(b, TRACK_CHILD_ORDERING, ORDER_EXPLICIT);
	if (t->is_ranked)
		pb_uint(b, TRACK_ORDER_RANK, t->rank);
	if (is_separate(t))
		pb_uint(b, TRACK_MERGE, MERGE_NONE);
	perfetto_track_end(&e->w, place);
	if (!t->is_group)
		perfetto_events_of(&e->w, uuid, t->begin_ns);
}

/* ---- Events ---- */

static void slice(void *context, const struct trace_slice *s)
{
	struct encoder *e = context;
	perfetto_event(&e->w, TYPE_BEGIN, s, e->flow);
}

static void slice_end(void *context, uint64_t ns)
{
	struct encoder *e = context;
	perfetto_slice_end(&e->w, ns);
}

static void instant(void *context, const struct trace_slice *s)
{
	struct encoder *e = context;
	perfetto_event(&e->w, TYPE_INSTANT, s, e->flow);
}

static void point(void *context, uint64_t ns, int64_t value)
{
	struct encoder *e = context;
	perfetto_count(&e->w, ns, value);
}

/* ---- Files ---- */

void perfetto_encode_as(const struct analyzed_step *step, struct perfetto_as *as,
			exporter_sink *sink, void *context)
{
	static const struct trace_visitor visitor = { process,	 track,	  slice,
						      slice_end, instant, point };
	struct encoder e = { .as = as };
	perfetto_start(&e.w, &as->shared, sink, context);
	e.w.shift_ns = as->shift_ns;
	trace_walk(step, &visitor, &e);
	perfetto_stop(&e.w);
}

void perfetto_as_free(struct perfetto_as *as)
{
	perfetto_shared_free(&as->shared);
	vec_free(&as->threads);
}

struct file {
	exporter_sink *sink;
	void *context;
	struct perfetto_as as;
};

static void *begin(exporter_sink *sink, void *context)
{
	struct file *f = mem_zero(sizeof(*f));
	f->sink = sink;
	f->context = context;
	f->as.is_first = true; /* each step writes how its clocks are related */
	return f;
}

/* Tracks have the same ids in all traces of a process, so a trace may also follow another one in
 * the same file. */
static void add(void *file, const struct analyzed_step *step)
{
	struct file *f = file;
	perfetto_encode_as(step, &f->as, f->sink, f->context);
}

static void end(void *file)
{
	struct file *f = file;
	perfetto_as_free(&f->as);
	free(f);
}

const struct exporter exporter_perfetto = {
	.name = "perfetto",
	.folder = "traces",
	.suffix = ".pftrace.gz",
	.noun = "trace",
	.title = "Perfetto trace",
	.viewer = "https://ui.perfetto.dev",
	.begin = begin,
	.add = add,
	.end = end,
	.count = trace_count_file,
};
