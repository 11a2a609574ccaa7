#include "test/unit/twin.h"

#include <math.h>

enum { FIRST_EVENT_HANDLE = 1000, FIRST_STREAM_HANDLE = 100, STEADY_AFTER = 40, MEASURED = 40 };

static double *now(struct twin *tw)
{
	return &tw->now[tw->thread];
}

static uint32_t call(struct twin *tw, struct sb_call c)
{
	c.tid = (uint32_t)tw->thread + 1;
	*now(tw) += tw->recording;
	return tw->is_recording ? sb_call(&tw->b, c) : 0;
}

static double device_end(const struct twin *tw)
{
	double end = 0;
	for (int i = 0; i < TWIN_STREAMS; i++)
		end = fmax(end, tw->stream[i]);
	return end;
}

void twin_host(struct twin *tw, double us)
{
	*now(tw) += us;
}

static void add_cpu_wait(struct twin *tw, double begin, double us)
{
	const double read_later = 300, read_before = 700;
	if (tw->is_recording)
		sb_cpu_wait(&tw->b, begin - read_before, begin + us + read_later, us,
			    (uint32_t)tw->thread + 1);
}

void twin_preempted(struct twin *tw, double us)
{
	add_cpu_wait(tw, *now(tw), us);
	*now(tw) += us;
}

void twin_preempted_in_wait(struct twin *tw, int stream, double us)
{
	add_cpu_wait(tw, tw->stream[stream], us);
	tw->stall = us;
}

/* When the work that is issued now ends. */
static uint64_t handle_of(int stream)
{
	return stream == TWIN_LEGACY ? 0 : (uint64_t)(FIRST_STREAM_HANDLE + stream);
}

/* Work of the legacy stream waits for the streams before it, and they wait for that work. */
static void keep_order(struct twin *tw, int stream)
{
	if (stream != TWIN_LEGACY)
		tw->stream[stream] = fmax(tw->stream[stream], tw->stream[TWIN_LEGACY]);
	for (int i = 0; stream == TWIN_LEGACY && i < TWIN_STREAMS; i++)
		tw->stream[TWIN_LEGACY] = fmax(tw->stream[TWIN_LEGACY], tw->stream[i]);
}

enum { PAGEABLE = 1, PINNED = 2, DEVICE = 3 }; /* as in CUpti_ActivityMemoryKind */
enum { NODES_MOST = 16 };		       /* of a graph */

static double enqueue(struct twin *tw, int stream, double issued, double us, double *begin)
{
	keep_order(tw, stream);
	*begin = fmax(issued + TWIN_LATENCY_US, tw->stream[stream] + tw->between);
	return tw->stream[stream] = *begin + us;
}

void twin_launch(struct twin *tw, int stream, double us, const char *name, uint32_t stack)
{
	double at = *now(tw), *room = &tw->queue[tw->launches++ % TWIN_QUEUE], begin, end;
	*now(tw) = fmax(at, tw->has_queue ? *room : 0) + TWIN_ISSUE_US;
	*room = end = enqueue(tw, stream, *now(tw), us, &begin);
	uint32_t id = call(tw, (struct sb_call){ .name = "cudaLaunchKernel",
						 .category = CAT_LAUNCH,
						 .begin_us = at,
						 .end_us = *now(tw),
						 .stack = stack,
						 .stream = handle_of(stream) });
	if (tw->is_recording)
		sb_work(&tw->b, (struct sb_work){ .name = name,
						  .begin_us = begin,
						  .end_us = end,
						  .call = id,
						  .stream = (uint32_t)stream });
}

static uint8_t category_of(const struct twin_node *n)
{
	return (uint8_t)n->category;
}

static void run_node(struct twin *tw, const struct twin_node *n, double at, uint32_t call,
		     uint32_t origin, int stream)
{
	bool is_copy = category_of(n) == CAT_MEMCPY, is_out = n->category & TWIN_PINNED_OUT;
	if (!tw->is_recording || category_of(n) == CAT_HOSTFUNC)
		return;
	sb_work(&tw->b, (struct sb_work){ .name = is_copy ? "copy" : "node",
					  .kind = is_copy ? WORK_MEMCPY : WORK_KERNEL,
					  .begin_us = at,
					  .end_us = at + n->us,
					  .call = call,
					  .stream = (uint32_t)stream,
					  .source = is_out			   ? DEVICE
						    : n->category & TWIN_PINNED_IN ? PINNED
										   : PAGEABLE,
					  .target = is_out ? PINNED : DEVICE,
					  .graph = 1,
					  .origin = origin });
}

/* Sets when each node begins, from the graph's begin on. Returns when all have ended. */
static double place_nodes(const struct twin_node *nodes, size_t n, double *begin)
{
	double at = 0, side = 0;
	for (size_t i = 0; i < n; i++, at += TWIN_NODE_US) {
		bool is_branch = nodes[i].category & TWIN_BRANCH;
		begin[i] = is_branch ? fmax(at, side) : at;
		*(is_branch ? &side : &at) = begin[i] + nodes[i].us;
	}
	return fmax(at - TWIN_NODE_US, side);
}

void twin_graph(struct twin *tw, int stream, const struct twin_node *nodes, size_t n,
		uint32_t stack)
{
	double at = *now(tw), node_at[NODES_MOST], begin;
	double work = place_nodes(nodes, n, node_at);
	*now(tw) += TWIN_ISSUE_US;
	enqueue(tw, stream, *now(tw), work, &begin);
	uint32_t id = call(tw, (struct sb_call){ .name = "cudaGraphLaunch",
						 .category = CAT_GRAPH,
						 .begin_us = at,
						 .end_us = *now(tw),
						 .stack = stack,
						 .stream = handle_of(stream) });
	for (size_t i = 0; i < n; i++) {
		uint32_t origin = 0;
		if (tw->is_recording)
			origin = sb_captured(&tw->b,
					     (struct sb_call){ .name = "cudaLaunchKernel",
							       .category = category_of(&nodes[i]),
							       .begin_us = 10 * (double)i,
							       .end_us = 10 * (double)i + 3,
							       .stack = nodes[i].stack });
		run_node(tw, &nodes[i], begin + node_at[i], id, origin, stream);
	}
}

void twin_copy(struct twin *tw, int stream, uint8_t kind, uint64_t bytes, double us, bool blocks,
	       uint32_t stack)
{
	double at = *now(tw), begin, end = enqueue(tw, stream, at + TWIN_ISSUE_US, us, &begin);
	uint8_t host = blocks && !tw->is_pinned ? PAGEABLE : PINNED;
	*now(tw) = blocks ? end + TWIN_EXIT_US : at + TWIN_ISSUE_US + tw->late;
	uint32_t id = call(tw, (struct sb_call){ .name = blocks ? "cudaMemcpy" : "cudaMemcpyAsync",
						 .category = CAT_MEMCPY,
						 .begin_us = at,
						 .end_us = *now(tw),
						 .stack = stack,
						 .bytes = bytes,
						 .copy = kind,
						 .stream = handle_of(stream) });
	if (tw->is_recording)
		sb_work(&tw->b, (struct sb_work){ .name = "copy",
						  .kind = WORK_MEMCPY,
						  .begin_us = begin,
						  .end_us = end,
						  .call = id,
						  .bytes = bytes,
						  .source = kind == COPY_D2H ? DEVICE : host,
						  .target = kind == COPY_D2H ? host : DEVICE,
						  .stream = (uint32_t)stream });
}

static void wait_until(struct twin *tw, double end, struct sb_call c)
{
	c.begin_us = *now(tw);
	*now(tw) = end > *now(tw) ? fmax(*now(tw) + TWIN_CHECK_US, end + TWIN_EXIT_US)
				  : *now(tw) + TWIN_CHECK_US;
	*now(tw) += tw->stall;
	tw->stall = 0;
	c.end_us = *now(tw);
	call(tw, c);
}

void twin_wait_stream(struct twin *tw, int stream, uint32_t stack)
{
	wait_until(tw, tw->stream[stream],
		   (struct sb_call){ .name = "cudaStreamSynchronize",
				     .category = CAT_SYNC,
				     .stack = stack,
				     .stream = handle_of(stream) });
}

void twin_wait_device(struct twin *tw, uint32_t stack)
{
	wait_until(tw, device_end(tw),
		   (struct sb_call){
			   .name = "cudaDeviceSynchronize", .category = CAT_SYNC, .stack = stack });
}

static void call_event(struct twin *tw, const char *name, int stream, int event, uint32_t stack)
{
	double at = *now(tw);
	*now(tw) += TWIN_CHECK_US;
	call(tw, (struct sb_call){ .name = name,
				   .category = CAT_EVENT,
				   .begin_us = at,
				   .end_us = *now(tw),
				   .stack = stack,
				   .handle = (uint64_t)(FIRST_EVENT_HANDLE + event),
				   .stream = handle_of(stream) });
}

void twin_record_event(struct twin *tw, int stream, int event, uint32_t stack)
{
	tw->event[event] = fmax(*now(tw), tw->stream[stream]);
	call_event(tw, "cudaEventRecord", stream, event, stack);
}

void twin_stream_wait(struct twin *tw, int stream, int event, uint32_t stack)
{
	tw->stream[stream] = fmax(tw->stream[stream], tw->event[event]);
	call_event(tw, "cudaStreamWaitEvent", stream, event, stack);
}

void twin_wait_event(struct twin *tw, int event, uint32_t stack)
{
	wait_until(tw, tw->event[event],
		   (struct sb_call){ .name = "cudaEventSynchronize",
				     .category = CAT_SYNC,
				     .stack = stack,
				     .handle = (uint64_t)(FIRST_EVENT_HANDLE + event) });
}

void twin_poll_event(struct twin *tw, int event, uint32_t stack)
{
	struct sb_call c = { .name = "cudaEventQuery",
			     .category = CAT_QUERY,
			     .stack = stack,
			     .handle = (uint64_t)(FIRST_EVENT_HANDLE + event) };
	c.begin_us = *now(tw);
	for (*now(tw) += TWIN_CHECK_US; *now(tw) < tw->event[event]; c.polls++)
		*now(tw) += TWIN_CHECK_US;
	c.end_us = *now(tw);
	call(tw, c);
}

static void call_memory(struct twin *tw, const char *name, uint8_t category, double at,
			uint32_t stack)
{
	call(tw, (struct sb_call){ .name = name,
				   .category = category,
				   .space = SPACE_DEVICE,
				   .begin_us = at,
				   .end_us = *now(tw),
				   .stack = stack,
				   .handle = 0x1000,
				   .bytes = category == CAT_ALLOC ? 4096 : 0 });
}

void twin_malloc(struct twin *tw, double us, uint32_t stack)
{
	double at = *now(tw);
	*now(tw) += us;
	call_memory(tw, "cudaMalloc", CAT_ALLOC, at, stack);
}

void twin_free_memory(struct twin *tw, double us, uint32_t stack)
{
	double at = *now(tw);
	*now(tw) = fmax(at, device_end(tw)) + us;
	call_memory(tw, "cudaFree", CAT_FREE, at, stack);
}

/* ---- Running ---- */

static double furthest(const struct twin *tw)
{
	double end = device_end(tw);
	for (int i = 0; i < TWIN_THREADS; i++)
		end = fmax(end, tw->now[i]);
	return end;
}

void twin_record(struct twin *tw, twin_step step, int steps)
{
	analyzer_start(&tw->a, &tw->b.tables,
		       (struct frames *)tw); /* the tests' frames need no resolver */
	for (int i = 0; i < STEADY_AFTER; i++)
		step(tw);
	tw->is_recording = true;
	for (int i = 0; i < steps; i++) {
		double begin = tw->now[0];
		sb_step(&tw->b, tw->number++, begin, begin);
		step(tw);
		tw->b.m.end_ns = (uint64_t)(tw->now[0] * 1000 + 0.5);
		sb_end(&tw->b, &tw->a);
	}
	tw->is_recording = false;
}

double twin_measure(twin_step step, bool is_fixed)
{
	struct twin *tw = mem_zero(sizeof(*tw));
	tw->is_fixed = is_fixed;
	for (int i = 0; i < STEADY_AFTER; i++)
		step(tw);
	double begin = furthest(tw);
	for (int i = 0; i < MEASURED; i++)
		step(tw);
	double us = (furthest(tw) - begin) / MEASURED;
	free(tw);
	return us;
}

void twin_free(struct twin *tw)
{
	analyzer_free(&tw->a);
	sb_free(&tw->b);
}
