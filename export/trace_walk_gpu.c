/* Walks a step's GPU work, one stream of a device after the other. A stream whose work overlaps
 * gets several tracks, which are called lanes here. */
#include "export/trace_walk_parts.h"

/* ---- A piece of work ---- */

static enum trace_category work_category(const struct model_work *work)
{
	switch (work->kind) {
	case WORK_KERNEL:
		return TRACE_CATEGORY_KERNEL;
	case WORK_MEMCPY:
		return TRACE_CATEGORY_GPU_MEMCPY;
	case WORK_MEMSET:
		return TRACE_CATEGORY_GPU_MEMSET;
	default:
		return TRACE_CATEGORY_GPU_WAIT;
	}
}

static void kernel_args(struct walk *w, const struct model_work *work)
{
	walk_triple(w, TRACE_ARG_GRID, work->grid);
	if (!work->kernel)
		return;
	const struct run_kernel *k = &w->m->tables->kernels.at[work->kernel - 1];
	walk_triple(w, TRACE_ARG_BLOCK, k->block);
	walk_uint(w, TRACE_ARG_REGISTERS, k->registers);
	walk_uint(w, TRACE_ARG_STATIC_SHARED, k->static_shared_bytes);
	walk_uint(w, TRACE_ARG_DYNAMIC_SHARED, k->dynamic_shared_bytes);
	if (k->local_bytes_per_thread)
		walk_uint(w, TRACE_ARG_LOCAL, k->local_bytes_per_thread);
}

static void work_args(struct walk *w, const struct model_work *work)
{
	uint64_t ns = work->end_ns - work->begin_ns;
	switch (work->kind) {
	case WORK_KERNEL:
		kernel_args(w, work);
		break;
	case WORK_MEMCPY:
		walk_bytes(w, work->bytes, ns);
		walk_text(w, TRACE_ARG_FROM, model_memory_kind(work->source));
		walk_text(w, TRACE_ARG_TO, model_memory_kind(work->target));
		if (work->peer)
			walk_uint(w, TRACE_ARG_PEER, work->peer);
		break;
	case WORK_MEMSET:
		walk_bytes(w, work->bytes, ns);
		walk_text(w, TRACE_ARG_TO, model_memory_kind(work->target));
		walk_uint(w, TRACE_ARG_VALUE, work->value);
		break;
	default:
		if (work->value)
			walk_uint(w, TRACE_ARG_EVENT, work->value);
		break;
	}
}

/* Adds the code of the captured call that became the work's graph node. */
static void captured_args(struct walk *w, uint32_t origin)
{
	const struct model_call *c = &w->m->captured.at[origin];
	const struct captured_code *code = &w->step->captured[origin];
	struct timeline *t = w->step->timeline;
	uint32_t row = code->tied_module ? code->tied_module : code->module;
	const char *module = module_sums_chain(&t->modules, &t->texts, row);
	walk_word(w, TRACE_ARG_LINE, trace_line_of_call(&w->stacks, c, code->forward_site));
	walk_word(w, TRACE_ARG_CAPTURED_AT, trace_code_of_site(&w->stacks, code->site));
	walk_word(w, TRACE_ARG_OPERATOR,
		  trace_stack(&w->stacks, c->stack)->word[STACK_WORD_OPERATOR]);
	walk_word(w, TRACE_ARG_MODULE, *module ? trace_word(&w->words, module) : 0);
	walk_word(w, TRACE_ARG_STACK, trace_stack(&w->stacks, c->stack)->word[STACK_WORD_STACK]);
}

/* Adds where the work's code is: that of the captured call of a graph, else that of the launch. */
static void code_args(struct walk *w, const struct model_work *work)
{
	uint32_t origin = model_work_origin(w->m, work);
	if (origin != MODEL_NO_CALL)
		captured_args(w, origin);
	else if (work->call != MODEL_NO_CALL)
		walk_word(w, TRACE_ARG_LINE,
			  trace_line_of_call(&w->stacks, &w->m->calls.at[work->call],
					     w->step->tied[work->call].site));
}

static void walk_work(struct walk *w, uint32_t i, const struct model_stream *s)
{
	const struct model_work *work = &w->m->works.at[i];
	walk_slice(w, work_category(work), trace_word_of_name(work->name), work->begin_ns,
		   work->end_ns);
	w->slice.item = i;
	code_args(w, work);
	walk_uint(w, TRACE_ARG_STREAM, s->stream);
	walk_uint(w, TRACE_ARG_DEVICE, s->device);
	walk_uint(w, TRACE_ARG_CONTEXT, s->context);
	walk_uint(w, TRACE_ARG_CORRELATION, work->correlation);
	work_args(w, work);
	if (work->graph)
		walk_uint(w, TRACE_ARG_GRAPH, work->graph);
	if (work->node)
		walk_uint(w, TRACE_ARG_GRAPH_NODE, work->node);
	if (work->flags & GPU_INCOMPLETE)
		walk_uint(w, TRACE_ARG_INCOMPLETE, 1);
	w->slice.has_flow_in = work->call != MODEL_NO_CALL;
	w->slice.flow_in = i;
	if (!w->slice.has_flow_in && work->kind != WORK_SYNC)
		walk_uint(w, TRACE_ARG_UNPAIRED, 1);
	walk_leaf(w);
}

/* ---- Streams ---- */

/* Tracks of several GPUs can also be seen outside the groups of their GPUs: pinned, or in SQL. */
static void stream_name(const struct model_stream *s, uint32_t lane, char *to, size_t bytes)
{
	char prefix[16], suffix[32] = "";
	snprintf(prefix, sizeof(prefix), "GPU %u ", s->device);
	if (lane)
		snprintf(suffix, sizeof(suffix), " (overlap %u)", lane + 1);
	if (s->is_wait && s->stream < 0x7fffffff)
		snprintf(to, bytes, "%sWaits for stream %u%s", prefix, s->stream, suffix);
	else if (s->is_wait) /* waits for the device or an event: CUPTI names no stream */
		snprintf(to, bytes, "%sWaits%s", prefix, suffix);
	else
		snprintf(to, bytes, "%sStream %u%s", prefix, s->stream, suffix);
}

static void begin_lane(struct walk *w, const struct model_stream *s, uint32_t rank, uint32_t lane,
		       uint64_t begin_ns)
{
	char name[96];
	const struct run_device *d = tables_device(w->m->tables, s->device);
	stream_name(s, lane, name, sizeof(name));
	walk_track(w, &(struct trace_track){ .kind = TRACE_TRACK_STREAM,
					     .id = trace_mix((uint64_t)s->context << 32 | s->stream,
							     (uint64_t)s->device << 33 |
								     (uint64_t)s->is_wait << 32 |
								     lane),
					     .name = name,
					     .description = w->has_one_device && d ? d->name : NULL,
					     .parent = walk_gpu_group(w, s->device),
					     .is_ranked = true,
					     .rank = rank,
					     .device = s->device,
					     .stream = s->stream,
					     .begin_ns = begin_ns });
}

/* Returns the indexes of the stream's work, lane by lane, in order of time within a lane. The
 * caller frees them. Lane i begins at starts[i]. */
static uint32_t *by_lane(const struct walk *w, const struct model_stream *s, size_t *starts)
{
	uint32_t *order = mem_zero(s->n * sizeof(*order));
	size_t *next = mem_zero((s->n_lanes + 1) * sizeof(*next));
	for (size_t i = 0; i < s->n; i++)
		next[w->m->works.at[s->first + i].lane + 1]++;
	for (uint32_t lane = 0; lane < s->n_lanes; lane++)
		next[lane + 1] += next[lane];
	memcpy(starts, next, (s->n_lanes + 1) * sizeof(*starts));
	for (size_t i = 0; i < s->n; i++)
		order[next[w->m->works.at[s->first + i].lane]++] = (uint32_t)(s->first + i);
	free(next);
	return order;
}

static void walk_stream(struct walk *w, const struct model_stream *s, uint32_t *rank)
{
	size_t *starts = mem_zero((s->n_lanes + 1) * sizeof(*starts));
	uint32_t *order = by_lane(w, s, starts);
	for (uint32_t lane = 0; lane < s->n_lanes; lane++) {
		begin_lane(w, s, (*rank)++, lane, w->m->works.at[order[starts[lane]]].begin_ns);
		for (size_t i = starts[lane]; i < starts[lane + 1]; i++)
			walk_work(w, order[i], s);
	}
	free(order);
	free(starts);
}

/* ---- Devices ---- */

static void begin_group(struct walk *w, uint32_t device, uint32_t rank)
{
	char name[96];
	const struct run_device *d = tables_device(w->m->tables, device);
	snprintf(name, sizeof(name), d ? "GPU %u: %s" : "GPU %u", device, d ? d->name : "");
	w->gpus[device] = (struct trace_track){ .kind = TRACE_TRACK_GPU,
						.id = device,
						.name = trace_word_text(
							&w->words, trace_word(&w->words, name)),
						.is_group = true,
						.is_ranked = true,
						.rank = rank,
						.device = device };
	walk_track(w, &w->gpus[device]);
}

/* Finds the devices of the step's counters and streams. Returns how many there are. */
static uint32_t find_devices(const struct walk *w, bool *is_there)
{
	uint32_t n = 0;
	for (size_t i = 0; i < w->m->counters.n; i++)
		if (w->m->counters.at[i].device < DEVICE_UNKNOWN)
			is_there[w->m->counters.at[i].device] = true;
	for (size_t i = 0; i < w->m->streams.n; i++)
		if (w->m->streams.at[i].device < DEVICE_UNKNOWN)
			is_there[w->m->streams.at[i].device] = true;
	for (uint32_t device = 0; device < DEVICE_UNKNOWN; device++)
		n += is_there[device];
	return n;
}

void walk_gpus(struct walk *w)
{
	bool is_there[DEVICE_UNKNOWN] = { false };
	uint32_t rank = 0;
	w->has_one_device = find_devices(w, is_there) == 1;
	for (uint32_t device = 0; device < DEVICE_UNKNOWN && !w->has_one_device; device++)
		if (is_there[device])
			begin_group(w, device, rank++);
	walk_idle(w, &rank);
	for (size_t i = 0; i < w->m->streams.n; i++)
		walk_stream(w, &w->m->streams.at[i], &rank);
}
