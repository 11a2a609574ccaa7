/*
 * A step as a Perfetto trace: process, threads, GPUs and their streams, arrows from calls to the work they caused, counters,
 * the step itself. Only TrackEvents are used: every version of Perfetto shows them, grouped as they are meant. A track's
 * slices never overlap (that would silently give wrong lengths): streams have lanes, calls are clipped.
 */
#include "export/perfetto.h"

#include "export/exporter.h"
#include "export/outfile.h"
#include "export/perfetto_writer.h"

#include <stdio.h>

enum {
	GZIP_LEVEL = 1, /* 2 M events: level 6 takes five times as long for a sixth less */
	EVENT_EXTRA = 512,
};

enum { /* kinds of tracks, mixed into their uuids */
       TRACK_KIND_PROCESS = 1,
       TRACK_KIND_THREAD,
       TRACK_KIND_STEPS,
       TRACK_KIND_NOTES,
       TRACK_KIND_GPU,
       TRACK_KIND_STREAM,
       TRACK_KIND_COUNTER,
       TRACK_KIND_OVERHEAD,
};

#define X(id, name) PLACE_##id,
enum { PLACE_BEFORE = CAT_COUNT, PERFETTO_CATEGORIES(X) };
#undef X

struct blob {
	uint8_t bytes[96];
	uint8_t n;
};

struct trace {
	struct perfetto_writer w;
	const struct model_step *m;
	uint64_t salt; /* of uuids: the same process has the same tracks in all of its traces */
	uint64_t flow; /* of arrows: no two traces have the same */
	struct blob *kernels, *launches; /* arguments that are the same each time, encoded once */
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
	h ^= h >> 29;
	h *= 0x94d049bb133111ebull;
	return (h ^ h >> 32) | 1; /* 0 is Perfetto's "no track" */
}

static uint64_t track_uuid(const struct trace *t, unsigned kind, uint64_t id)
{
	return mix(t->salt, mix(kind, id)) >> 1 | 1; /* SQL's integers are signed */
}

/* ---- Threads ---- */

static const struct blob *launch_blob(struct trace *t, uint32_t launch)
{
	struct blob *blob = &t->launches[launch];
	if (!blob->n) {
		const struct launch_entry *l = &t->m->dict->launches.at[launch];
		struct pb b = { blob->bytes, blob->bytes, blob->bytes + sizeof(blob->bytes) };
		perfetto_arg_interned(&b, PERFETTO_ARG_KERNEL, l->name + 1);
		perfetto_arg_triple(&b, PERFETTO_ARG_GRID, l->grid);
		perfetto_arg_triple(&b, PERFETTO_ARG_BLOCK, l->block);
		if (l->shared_bytes)
			perfetto_arg_uint(&b, PERFETTO_ARG_SHARED, l->shared_bytes);
		blob->n = (uint8_t)pb_used(&b);
	}
	return blob;
}

static void write_bytes(struct pb *b, uint64_t bytes, uint64_t ns)
{
	perfetto_arg_uint(b, PERFETTO_ARG_BYTES, bytes);
	if (ns)
		perfetto_arg_double(b, PERFETTO_ARG_GB_PER_S, (double)bytes / (double)ns);
}

static void write_call_facts(struct trace *t, const struct model_call *c)
{
	static const char *const copies[] = { NULL, "HtoD", "DtoH", "DtoD", "HtoH", "PtoP" };
	struct pb *b = &t->w.out;
	switch (c->category) {
	case CAT_LAUNCH:
		if (c->launch) {
			const struct blob *blob = launch_blob(t, c->launch - 1);
			memcpy(b->at, blob->bytes, blob->n);
			b->at += blob->n;
		}
		break;
	case CAT_MEMCPY:
		if (c->copy < sizeof(copies) / sizeof(*copies) && copies[c->copy])
			perfetto_arg_string(b, PERFETTO_ARG_KIND, copies[c->copy]);
		write_bytes(b, c->bytes, 0);
		break;
	case CAT_MEMSET:
	case CAT_PREFETCH:
		write_bytes(b, c->bytes, 0);
		break;
	case CAT_ALLOC:
	case CAT_FREE:
		perfetto_arg_pointer(b, PERFETTO_ARG_ADDRESS, c->handle);
		if (c->bytes)
			write_bytes(b, c->bytes, 0);
		break;
	default:
		if (c->handle)
			perfetto_arg_pointer(b, PERFETTO_ARG_HANDLE, c->handle);
		break;
	}
	if (category_has_work(c->category) || c->stream)
		perfetto_arg_pointer(b, PERFETTO_ARG_STREAM, c->stream);
}

static void write_call(struct trace *t, const struct model_call *c)
{
	struct pb *b = &t->w.out;
	uint32_t api = perfetto_arg_text(&t->w, t->m->dict->door_names[c->door]);
	if (c->launch)
		perfetto_arg_text(&t->w, t->m->dict->launches.at[c->launch - 1].name);
	struct perfetto_place place = perfetto_event_begin(&t->w, c->begin_ns, TYPE_BEGIN, c->name,
							   perfetto_category(c->category),
							   EVENT_EXTRA + (size_t)c->n_work * 10);
	perfetto_arg_interned(b, PERFETTO_ARG_API, api);
	write_call_facts(t, c);
	if (c->correlation)
		perfetto_arg_uint(b, PERFETTO_ARG_CORRELATION, c->correlation);
	if (c->device != DEVICE_UNKNOWN && category_has_work(c->category))
		perfetto_arg_uint(b, PERFETTO_ARG_DEVICE, c->device);
	if (c->status)
		perfetto_arg_uint(b, PERFETTO_ARG_STATUS, c->status);
	if (c->is_captured)
		perfetto_arg_uint(b, PERFETTO_ARG_CAPTURED, 1);
	for (uint32_t k = 0; k < c->n_work; k++)
		pb_fixed64(b, EVENT_FLOW_IDS, t->flow + t->m->links.at[c->first_link + k]);
	perfetto_event_end(&t->w, place);
	perfetto_slice_end(&t->w, c->end_ns);
}

static void write_thread(struct trace *t, const struct model_thread *thread)
{
	struct pb *b = &t->w.out;
	uint64_t uuid = track_uuid(t, TRACK_KIND_THREAD, thread->tid);
	struct perfetto_place place =
		perfetto_track_begin(&t->w, uuid, track_uuid(t, TRACK_KIND_PROCESS, 0), NULL);
	uint8_t *body = pb_begin(b, TRACK_THREAD);
	pb_uint(b, THREAD_PID, t->m->pid);
	pb_uint(b, THREAD_TID, thread->tid);
	if (thread->name[0])
		pb_bytes(b, THREAD_NAME, thread->name, strnlen(thread->name, sizeof(thread->name)));
	pb_end(b, body);
	perfetto_track_end(&t->w, place);
	perfetto_sequence(&t->w, uuid, t->m->calls.at[thread->first].begin_ns);
	for (size_t i = 0; i < thread->n; i++)
		write_call(t, &t->m->calls.at[thread->first + i]);
}

/* ---- GPUs ---- */

static const struct blob *kernel_blob(struct trace *t, uint32_t kernel)
{
	struct blob *blob = &t->kernels[kernel];
	if (!blob->n) {
		const struct kernel_entry *k = &t->m->dict->kernels.at[kernel];
		struct pb b = { blob->bytes, blob->bytes, blob->bytes + sizeof(blob->bytes) };
		perfetto_arg_triple(&b, PERFETTO_ARG_BLOCK, k->block);
		perfetto_arg_uint(&b, PERFETTO_ARG_REGISTERS, k->registers);
		perfetto_arg_uint(&b, PERFETTO_ARG_STATIC_SHARED, k->static_shared_bytes);
		perfetto_arg_uint(&b, PERFETTO_ARG_DYNAMIC_SHARED, k->dynamic_shared_bytes);
		if (k->local_bytes_per_thread)
			perfetto_arg_uint(&b, PERFETTO_ARG_LOCAL, k->local_bytes_per_thread);
		blob->n = (uint8_t)pb_used(&b);
	}
	return blob;
}

static uint32_t work_category(const struct model_work *w)
{
	switch (w->kind) {
	case REC_KERNEL:
		return perfetto_category(PLACE_KERNEL);
	case REC_MEMCPY:
		return perfetto_category(PLACE_GPU_MEMCPY);
	case REC_MEMSET:
		return perfetto_category(PLACE_GPU_MEMSET);
	default:
		return perfetto_category(PLACE_GPU_WAIT);
	}
}

static void write_work_facts(struct trace *t, const struct model_work *work)
{
	struct pb *b = &t->w.out;
	uint64_t ns = work->end_ns - work->begin_ns;
	switch (work->kind) {
	case REC_KERNEL:
		perfetto_arg_triple(b, PERFETTO_ARG_GRID, work->grid);
		if (work->kernel) {
			const struct blob *blob = kernel_blob(t, work->kernel - 1);
			memcpy(b->at, blob->bytes, blob->n);
			b->at += blob->n;
		}
		break;
	case REC_MEMCPY:
		write_bytes(b, work->bytes, ns);
		perfetto_arg_string(b, PERFETTO_ARG_FROM, model_memory_kind(work->source));
		perfetto_arg_string(b, PERFETTO_ARG_TO, model_memory_kind(work->target));
		if (work->peer)
			perfetto_arg_uint(b, PERFETTO_ARG_PEER, work->peer);
		break;
	case REC_MEMSET:
		write_bytes(b, work->bytes, ns);
		perfetto_arg_string(b, PERFETTO_ARG_TO, model_memory_kind(work->target));
		perfetto_arg_uint(b, PERFETTO_ARG_VALUE, work->value);
		break;
	default:
		if (work->value)
			perfetto_arg_uint(b, PERFETTO_ARG_EVENT, work->value);
		break;
	}
}

static void write_work(struct trace *t, size_t i, const struct blob *place_blob)
{
	const struct model_work *work = &t->m->works.at[i];
	struct pb *b = &t->w.out;
	struct perfetto_place place = perfetto_event_begin(
		&t->w, work->begin_ns, TYPE_BEGIN, work->name, work_category(work), EVENT_EXTRA);
	memcpy(b->at, place_blob->bytes, place_blob->n);
	b->at += place_blob->n;
	perfetto_arg_uint(b, PERFETTO_ARG_CORRELATION, work->correlation);
	write_work_facts(t, work);
	if (work->graph)
		perfetto_arg_uint(b, PERFETTO_ARG_GRAPH, work->graph);
	if (work->node)
		perfetto_arg_uint(b, PERFETTO_ARG_GRAPH_NODE, work->node);
	if (work->flags & GPU_INCOMPLETE)
		perfetto_arg_uint(b, PERFETTO_ARG_INCOMPLETE, 1);
	if (work->call != MODEL_NO_CALL)
		pb_fixed64(b, EVENT_FLOW_ENDS, t->flow + i);
	else if (work->kind != REC_GPU_SYNC)
		perfetto_arg_uint(b, PERFETTO_ARG_UNPAIRED, 1);
	perfetto_event_end(&t->w, place);
	perfetto_slice_end(&t->w, work->end_ns);
}

static void describe_stream(struct trace *t, const struct model_stream *s, uint64_t uuid,
			    uint32_t rank, uint32_t lane)
{
	char name[96], suffix[32] = "";
	if (lane)
		snprintf(suffix, sizeof(suffix), " (overlap %u)", lane + 1);
	if (s->is_wait)
		snprintf(name, sizeof(name),
			 s->stream < 0x7fffffff ? "Waits for stream %u%s" : "Waits%.0u%s",
			 s->stream, suffix);
	else
		snprintf(name, sizeof(name), "Stream %u%s", s->stream, suffix);
	struct perfetto_place place =
		perfetto_track_begin(&t->w, uuid, track_uuid(t, TRACK_KIND_GPU, s->device), name);
	pb_uint(&t->w.out, TRACK_ORDER_RANK, rank);
	pb_uint(&t->w.out, TRACK_MERGE, MERGE_NONE);
	perfetto_track_end(&t->w, place);
}

static struct blob stream_blob(const struct model_stream *s)
{
	struct blob blob = { .n = 0 };
	struct pb b = { blob.bytes, blob.bytes, blob.bytes + sizeof(blob.bytes) };
	perfetto_arg_uint(&b, PERFETTO_ARG_STREAM, s->stream);
	perfetto_arg_uint(&b, PERFETTO_ARG_DEVICE, s->device);
	perfetto_arg_uint(&b, PERFETTO_ARG_CONTEXT, s->context);
	blob.n = (uint8_t)pb_used(&b);
	return blob;
}

/* Works of the stream, lane by lane, each in order. */
static uint32_t *by_lane(const struct trace *t, const struct model_stream *s, size_t *starts)
{
	uint32_t *order = mem_resize(NULL, s->n * sizeof(*order));
	size_t *next = mem_zero((s->n_lanes + 1) * sizeof(*next));
	for (size_t i = 0; i < s->n; i++)
		next[t->m->works.at[s->first + i].lane + 1]++;
	for (uint32_t lane = 0; lane < s->n_lanes; lane++)
		next[lane + 1] += next[lane];
	memcpy(starts, next, (s->n_lanes + 1) * sizeof(*starts));
	for (size_t i = 0; i < s->n; i++)
		order[next[t->m->works.at[s->first + i].lane]++] = (uint32_t)(s->first + i);
	free(next);
	return order;
}

static void write_stream(struct trace *t, const struct model_stream *s, uint32_t *rank)
{
	size_t *starts = mem_zero((s->n_lanes + 1) * sizeof(*starts));
	uint32_t *order = by_lane(t, s, starts);
	struct blob blob = stream_blob(s);
	for (uint32_t lane = 0; lane < s->n_lanes; lane++) {
		uint64_t id = mix((uint64_t)s->context << 32 | s->stream,
				  (uint64_t)s->device << 33 | (uint64_t)s->is_wait << 32 | lane);
		uint64_t uuid = track_uuid(t, TRACK_KIND_STREAM, id);
		describe_stream(t, s, uuid, (*rank)++, lane);
		perfetto_sequence(&t->w, uuid, t->m->works.at[order[starts[lane]]].begin_ns);
		for (size_t i = starts[lane]; i < starts[lane + 1]; i++)
			write_work(t, order[i], &blob);
	}
	free(order);
	free(starts);
}

static void describe_gpu(struct trace *t, uint32_t device, uint32_t rank)
{
	char name[96];
	const struct dict_device *d = dict_find_device(t->m->dict, device);
	snprintf(name, sizeof(name), d ? "GPU %u: %s" : "GPU %u", device, d ? d->name : "");
	struct perfetto_place place =
		perfetto_track_begin(&t->w, track_uuid(t, TRACK_KIND_GPU, device),
				     track_uuid(t, TRACK_KIND_PROCESS, 0), name);
	pb_uint(&t->w.out, TRACK_CHILD_ORDERING, ORDER_EXPLICIT);
	pb_uint(&t->w.out, TRACK_ORDER_RANK, rank);
	pb_uint(&t->w.out, TRACK_MERGE, MERGE_NONE);
	perfetto_track_end(&t->w, place);
}

static void write_gpus(struct trace *t)
{
	bool is_described[256] = { false };
	uint32_t rank = 0;
	for (size_t i = 0; i < t->m->counters.n; i++) {
		uint32_t device = t->m->counters.at[i].device;
		if (device >= DEVICE_UNKNOWN || is_described[device])
			continue;
		describe_gpu(t, device, rank++);
		is_described[device] = true;
	}
	for (size_t i = 0; i < t->m->streams.n; i++) {
		uint32_t device = t->m->streams.at[i].device;
		if (!is_described[device & 255])
			describe_gpu(t, device, rank++);
		is_described[device & 255] = true;
	}
	for (size_t i = 0; i < t->m->streams.n; i++)
		write_stream(t, &t->m->streams.at[i], &rank);
}

/* ---- The rest ---- */

static void write_counter(struct trace *t, const struct model_counter *c, size_t index)
{
	uint64_t uuid = track_uuid(t, TRACK_KIND_COUNTER, mix(c->device, index));
	uint64_t parent = c->device < DEVICE_UNKNOWN ? track_uuid(t, TRACK_KIND_GPU, c->device)
						     : track_uuid(t, TRACK_KIND_PROCESS, 0);
	struct perfetto_place place = perfetto_track_begin(&t->w, uuid, parent, c->name);
	uint8_t *body = pb_begin(&t->w.out, TRACK_COUNTER);
	pb_uint(&t->w.out, COUNTER_UNIT,
		c->unit == UNIT_BYTES ? COUNTER_UNIT_BYTES : COUNTER_UNIT_COUNT);
	pb_end(&t->w.out, body);
	pb_uint(&t->w.out, TRACK_MERGE, MERGE_NONE);
	perfetto_track_end(&t->w, place);
	perfetto_sequence(&t->w, uuid, c->points.at[0].ns);
	for (size_t i = 0; i < c->points.n; i++)
		perfetto_count(&t->w, c->points.at[i].ns, c->points.at[i].value);
}

static uint64_t process_child(struct trace *t, unsigned kind, uint64_t id, const char *name)
{
	uint64_t uuid = track_uuid(t, kind, id);
	struct perfetto_place place =
		perfetto_track_begin(&t->w, uuid, track_uuid(t, TRACK_KIND_PROCESS, 0), name);
	perfetto_track_end(&t->w, place);
	return uuid;
}

static void write_step_slice(struct trace *t)
{
	struct pb *b = &t->w.out;
	char name[64];
	snprintf(name, sizeof(name), t->m->is_whole_run ? "whole run" : "step %llu",
		 (unsigned long long)t->m->number);
	perfetto_sequence(&t->w, process_child(t, TRACK_KIND_STEPS, 0, "steps"), t->m->begin_ns);
	struct perfetto_place place = perfetto_event_begin_text(&t->w, t->m->begin_ns, TYPE_BEGIN,
								name, perfetto_category(PLACE_STEP),
								EVENT_EXTRA);
	perfetto_arg_uint(b, PERFETTO_ARG_NUMBER, t->m->number);
	perfetto_arg_uint(b, PERFETTO_ARG_CALLS, t->m->calls.n);
	perfetto_arg_uint(b, PERFETTO_ARG_WORKS, t->m->works.n);
	if (t->m->is_cut)
		perfetto_arg_uint(b, PERFETTO_ARG_CUT, 1);
	perfetto_event_end(&t->w, place);
	perfetto_slice_end(&t->w, t->m->end_ns);
}

static void write_notes(struct trace *t)
{
	if (!t->m->notes.n)
		return;
	uint64_t uuid = process_child(t, TRACK_KIND_NOTES, 0, "profrun notes");
	for (size_t i = 0; i < t->m->notes.n; i++) {
		/* each begins its time anew: notes come in any order */
		perfetto_sequence(&t->w, uuid, t->m->notes.at[i].ns);
		struct perfetto_place place = perfetto_event_begin_text(
			&t->w, t->m->notes.at[i].ns, TYPE_INSTANT, t->m->notes.at[i].text,
			perfetto_category(PLACE_NOTE), 0);
		perfetto_event_end(&t->w, place);
	}
}

/* What CUPTI says it cost: a track per thread, as many as overlap. */
static void write_overheads(struct trace *t)
{
	bool *is_written = mem_zero(t->m->overheads.n);
	size_t n_left = t->m->overheads.n;
	for (uint64_t lane = 0; n_left; lane++) {
		uint64_t end = 0;
		for (size_t i = 0; i < t->m->overheads.n; i++) {
			const struct model_overhead *o = &t->m->overheads.at[i];
			if (is_written[i] || o->begin_ns < end)
				continue;
			if (!end)
				perfetto_sequence(&t->w,
						  process_child(t, TRACK_KIND_OVERHEAD, lane,
								"CUPTI's own cost"),
						  o->begin_ns);
			struct perfetto_place place = perfetto_event_begin_text(
				&t->w, o->begin_ns, TYPE_BEGIN, model_overhead_kind(o->what),
				perfetto_category(PLACE_OVERHEAD), 0);
			perfetto_event_end(&t->w, place);
			perfetto_slice_end(&t->w, o->end_ns);
			end = o->end_ns > o->begin_ns ? o->end_ns : o->begin_ns + 1;
			is_written[i] = true;
			n_left--;
		}
	}
	free(is_written);
}

static void describe_process(struct trace *t)
{
	struct pb *b = &t->w.out;
	struct perfetto_place place =
		perfetto_track_begin(&t->w, track_uuid(t, TRACK_KIND_PROCESS, 0), 0, NULL);
	uint8_t *body = pb_begin(b, TRACK_PROCESS);
	pb_uint(b, PROCESS_PID, t->m->pid);
	if (t->m->command[0])
		pb_bytes(b, PROCESS_NAME, t->m->command, strnlen(t->m->command, 400));
	pb_end(b, body);
	perfetto_track_end(&t->w, place);
}

void perfetto_encode(const struct model_step *m, perfetto_write *write, void *context)
{
	struct trace t = { .m = m, .salt = mix(m->pid, m->process_start) };
	t.flow = mix(t.salt, m->number) & ~0xffffffffull;
	t.kernels = mem_zero(m->dict->kernels.n * sizeof(*t.kernels));
	t.launches = mem_zero(m->dict->launches.n * sizeof(*t.launches));
	perfetto_start(&t.w, &m->dict->names, write, context);
	perfetto_clocks(&t.w, m->clock.monotonic_ns, m->clock.boottime_ns, m->clock.realtime_ns);
	describe_process(&t);
	write_step_slice(&t);
	write_notes(&t);
	for (size_t i = 0; i < m->threads.n; i++)
		write_thread(&t, &m->threads.at[i]);
	write_gpus(&t);
	for (size_t i = 0; i < m->counters.n; i++)
		write_counter(&t, &m->counters.at[i], i);
	write_overheads(&t);
	perfetto_stop(&t.w);
	free(t.kernels);
	free(t.launches);
}

static void to_file(void *context, const void *bytes, size_t n)
{
	outfile_write(context, bytes, n);
}

static int write_step(const struct model_step *step, const char *path, struct err *e)
{
	struct outfile out;
	int error = outfile_open(&out, path, GZIP_LEVEL, e);
	if (error)
		return error;
	perfetto_encode(step, to_file, &out);
	return outfile_close(&out, e);
}

const struct exporter exporter_perfetto = {
	.name = "perfetto",
	.folder = "traces",
	.suffix = ".pftrace.gz",
	.write_step = write_step,
};
