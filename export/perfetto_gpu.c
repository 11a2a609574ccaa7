/* A step's GPU work as Perfetto tracks: a device's streams, each in as many lanes as its work overlaps. */
#include "export/perfetto_trace.h"

#include <stdio.h>

static const struct blob *kernel_blob(struct trace *t, uint32_t kernel)
{
	struct blob *blob = &t->kernels[kernel];
	if (!blob->n) {
		const struct run_kernel *k = &t->m->tables->kernels.at[kernel];
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
	case WORK_KERNEL:
		return perfetto_category(PLACE_KERNEL);
	case WORK_MEMCPY:
		return perfetto_category(PLACE_GPU_MEMCPY);
	case WORK_MEMSET:
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
	case WORK_KERNEL:
		perfetto_arg_triple(b, PERFETTO_ARG_GRID, work->grid);
		if (work->kernel) {
			const struct blob *blob = kernel_blob(t, work->kernel - 1);
			memcpy(b->at, blob->bytes, blob->n);
			b->at += blob->n;
		}
		break;
	case WORK_MEMCPY:
		perfetto_write_bytes(b, work->bytes, ns);
		perfetto_arg_string(b, PERFETTO_ARG_FROM, model_memory_kind(work->source));
		perfetto_arg_string(b, PERFETTO_ARG_TO, model_memory_kind(work->target));
		if (work->peer)
			perfetto_arg_uint(b, PERFETTO_ARG_PEER, work->peer);
		break;
	case WORK_MEMSET:
		perfetto_write_bytes(b, work->bytes, ns);
		perfetto_arg_string(b, PERFETTO_ARG_TO, model_memory_kind(work->target));
		perfetto_arg_uint(b, PERFETTO_ARG_VALUE, work->value);
		break;
	default:
		if (work->value)
			perfetto_arg_uint(b, PERFETTO_ARG_EVENT, work->value);
		break;
	}
}

/* Where the call that caused it was made. */
static uint32_t work_line(struct trace *t, const struct model_work *work)
{
	if (work->call == MODEL_NO_CALL)
		return 0;
	const struct model_call *c = &t->m->calls.at[work->call];
	uint32_t line =
		perfetto_line_of_call(&t->stacks, &t->w, c, t->step->forward_site[work->call]);
	return line ? perfetto_arg_text(&t->w, line) : 0;
}

static void write_work(struct trace *t, size_t i, const struct blob *place_blob)
{
	const struct model_work *work = &t->m->works.at[i];
	struct pb *b = &t->w.out;
	uint32_t line = work_line(t, work);
	struct perfetto_place place =
		perfetto_event_begin(&t->w, work->begin_ns, TYPE_BEGIN, perfetto_name(work->name),
				     work_category(work), PERFETTO_EVENT_EXTRA);
	if (line)
		perfetto_arg_interned(b, PERFETTO_ARG_LINE, line);
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
	else if (work->kind != WORK_SYNC)
		perfetto_arg_uint(b, PERFETTO_ARG_UNPAIRED, 1);
	perfetto_event_end(&t->w, place);
	perfetto_slice_end(&t->w, work->end_ns);
}

static void describe_stream(struct trace *t, const struct model_stream *s, uint64_t uuid,
			    uint32_t rank, uint32_t lane)
{
	char name[96], prefix[16] = "", suffix[32] = "";
	const struct run_device *d = tables_device(t->m->tables, s->device);
	if (t->has_one_device)
		snprintf(prefix, sizeof(prefix), "GPU %u ", s->device);
	if (lane)
		snprintf(suffix, sizeof(suffix), " (overlap %u)", lane + 1);
	if (s->is_wait)
		snprintf(name, sizeof(name),
			 s->stream < 0x7fffffff ? "%sWaits for stream %u%s" : "%sWaits%.0u%s",
			 prefix, s->stream, suffix);
	else
		snprintf(name, sizeof(name), "%sStream %u%s", prefix, s->stream, suffix);
	struct perfetto_place place =
		perfetto_track_begin(&t->w, uuid, perfetto_gpu_parent(t, s->device), name);
	if (t->has_one_device && d)
		pb_text(&t->w.out, TRACK_DESCRIPTION, d->name);
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
	uint32_t *order = mem_zero(s->n * sizeof(*order));
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
		uint64_t id =
			perfetto_mix((uint64_t)s->context << 32 | s->stream,
				     (uint64_t)s->device << 33 | (uint64_t)s->is_wait << 32 | lane);
		uint64_t uuid = perfetto_track_uuid(t, TRACK_KIND_STREAM, id);
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
	const struct run_device *d = tables_device(t->m->tables, device);
	snprintf(name, sizeof(name), d ? "GPU %u: %s" : "GPU %u", device, d ? d->name : "");
	struct perfetto_place place =
		perfetto_track_begin(&t->w, perfetto_track_uuid(t, TRACK_KIND_GPU, device),
				     perfetto_track_uuid(t, TRACK_KIND_PROCESS, 0), name);
	pb_uint(&t->w.out, TRACK_CHILD_ORDERING, ORDER_EXPLICIT);
	pb_uint(&t->w.out, TRACK_ORDER_RANK, rank);
	pb_uint(&t->w.out, TRACK_MERGE, MERGE_NONE);
	perfetto_track_end(&t->w, place);
}

/* The devices that the step names, in the order of their numbers. How many. */
static uint32_t find_devices(const struct trace *t, bool *is_there)
{
	uint32_t n = 0;
	for (size_t i = 0; i < t->m->counters.n; i++)
		if (t->m->counters.at[i].device < DEVICE_UNKNOWN)
			is_there[t->m->counters.at[i].device] = true;
	for (size_t i = 0; i < t->m->streams.n; i++)
		if (t->m->streams.at[i].device < DEVICE_UNKNOWN)
			is_there[t->m->streams.at[i].device] = true;
	for (uint32_t device = 0; device < DEVICE_UNKNOWN; device++)
		n += is_there[device];
	return n;
}

void perfetto_write_gpus(struct trace *t)
{
	bool is_there[DEVICE_UNKNOWN] = { false };
	uint32_t rank = 0;
	t->has_one_device = find_devices(t, is_there) == 1;
	for (uint32_t device = 0; device < DEVICE_UNKNOWN && !t->has_one_device; device++)
		if (is_there[device])
			describe_gpu(t, device, rank++);
	perfetto_write_idle(t, &rank);
	for (size_t i = 0; i < t->m->streams.n; i++)
		write_stream(t, &t->m->streams.at[i], &rank);
}
