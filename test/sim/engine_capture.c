/*
 * Stream capture. A call on a capturing stream becomes a node that depends on the stream's last
 * nodes. Events carry these dependencies to other streams. Runs on the application's threads. The
 * functions require engine_lock, unless their comment says otherwise.
 */
#include "test/sim/engine_graph.h"

static struct capture *captures; /* the captures in progress */
static uint64_t last_capture_id;

/*
 * Returns the capture that a call on the legacy stream would have to wait for, or NULL. Such a call
 * is an error and ends the capture.
 */
static struct capture *capture_implied(const struct stream *stream)
{
	if (!stream->legacy)
		return NULL;
	for (struct capture *c = captures; c; c = c->next)
		if (c->origin->context == stream->context &&
		    !(c->origin->flags & CU_STREAM_NON_BLOCKING))
			return c;
	return NULL;
}

bool capture_active(const struct stream *stream)
{
	return stream->capture || (captures && capture_implied(stream));
}

CUresult capture_forbids(struct stream *stream)
{
	if (!captures)
		return CUDA_SUCCESS;
	struct capture *implied = capture_implied(stream);
	if (implied) {
		implied->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	if (!stream->capture)
		return CUDA_SUCCESS;
	stream->capture->invalid = true;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* Unlike the other functions, takes engine_lock itself. */
CUresult capture_unsafe(void)
{
	struct cu_thread *t = engine_thread();
	CUresult rc = CUDA_SUCCESS;
	if (!__atomic_load_n(&captures, __ATOMIC_RELAXED) ||
	    t->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&engine_lock);
	for (struct capture *c = captures; c; c = c->next) {
		bool global = c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
			      t->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
		bool local = c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread == t;
		if (!global && !local)
			continue;
		c->invalid = true;
		rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

static void dependencies_set(struct stream *s, struct graph_node *const *nodes, int count)
{
	struct graph_node **copy = count ? malloc(count * sizeof(*copy)) : NULL;
	if (count)
		memcpy(copy, nodes, count * sizeof(*copy));
	free(s->capture_nodes);
	s->capture_nodes = copy;
	s->capture_count = count;
}

static void dependencies_add(struct stream *s, struct graph_node *const *nodes, int count)
{
	s->capture_nodes = realloc(s->capture_nodes,
				   (s->capture_count + count + 1) * sizeof(*s->capture_nodes));
	for (int i = 0; i < count; i++) {
		bool known = false;
		for (int k = 0; k < s->capture_count; k++)
			known |= s->capture_nodes[k] == nodes[i];
		if (!known)
			s->capture_nodes[s->capture_count++] = nodes[i];
	}
}

static CUresult capture_check(struct stream *s)
{
	struct capture *implied = capture_implied(s);
	if (implied) {
		implied->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	return s->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

static CUresult capture_node(struct stream *s, CUgraphNodeType type, struct graph_node **out)
{
	CUresult rc = capture_check(s);
	if (rc)
		return rc;
	struct graph_node *n =
		node_add(s->capture->graph, type, s->capture_nodes, s->capture_count);
	dependencies_set(s, &n, 1);
	*out = n;
	return CUDA_SUCCESS;
}

CUresult capture_kernel(struct stream *s, const struct launch *launch)
{
	struct graph_node *n;
	CUresult rc = capture_node(s, CU_GRAPH_NODE_TYPE_KERNEL, &n);
	if (rc)
		return rc;
	n->launch = *launch;
	n->params.kernel = (CUDA_KERNEL_NODE_PARAMS_v3){ .func = (CUfunction)launch->kernel,
							 .gridDimX = launch->grid[0],
							 .gridDimY = launch->grid[1],
							 .gridDimZ = launch->grid[2],
							 .blockDimX = launch->block[0],
							 .blockDimY = launch->block[1],
							 .blockDimZ = launch->block[2],
							 .sharedMemBytes = launch->shared };
	return CUDA_SUCCESS;
}

CUresult capture_move(struct stream *s, const struct move *move)
{
	struct graph_node *n;
	const CUDA_MEMCPY3D_PEER *c = &move->copy;
	CUresult rc = capture_node(
		s, move->is_set ? CU_GRAPH_NODE_TYPE_MEMSET : CU_GRAPH_NODE_TYPE_MEMCPY, &n);
	if (rc)
		return rc;
	n->move = *move;
	if (move->is_set)
		n->params.memset =
			(CUDA_MEMSET_NODE_PARAMS_v2){ .dst = c->dstDevice,
						      .pitch = c->dstPitch,
						      .value = move->value,
						      .elementSize = (unsigned)move->element,
						      .width = c->WidthInBytes / move->element,
						      .height = c->Height };
	else
		n->params.memcpy.copyParams = (CUDA_MEMCPY3D){ .srcMemoryType = c->srcMemoryType,
							       .srcHost = c->srcHost,
							       .srcDevice = c->srcDevice,
							       .srcArray = c->srcArray,
							       .srcPitch = c->srcPitch,
							       .dstMemoryType = c->dstMemoryType,
							       .dstHost = c->dstHost,
							       .dstDevice = c->dstDevice,
							       .dstArray = c->dstArray,
							       .dstPitch = c->dstPitch,
							       .WidthInBytes = c->WidthInBytes,
							       .Height = c->Height,
							       .Depth = c->Depth };
	return CUDA_SUCCESS;
}

CUresult capture_host(struct stream *s, CUhostFn function, void *data)
{
	struct graph_node *n;
	CUresult rc = capture_node(s, CU_GRAPH_NODE_TYPE_HOST, &n);
	if (!rc) {
		n->params.host.fn = function;
		n->params.host.userData = data;
	}
	return rc;
}

CUresult capture_memory(struct stream *s, CUdeviceptr address, size_t bytes, bool is_free)
{
	struct graph_node *n;
	CUresult rc = capture_node(
		s, is_free ? CU_GRAPH_NODE_TYPE_MEM_FREE : CU_GRAPH_NODE_TYPE_MEM_ALLOC, &n);
	if (rc)
		return rc;
	if (is_free) {
		n->params.free.dptr = address;
	} else {
		n->params.alloc.dptr = address;
		n->params.alloc.bytesize = bytes;
	}
	return CUDA_SUCCESS;
}

void capture_event_forget(struct event *e)
{
	free(e->capture_nodes);
	e->capture_nodes = NULL;
	e->capture_count = 0;
	e->capture = NULL;
}

CUresult capture_event_record(struct stream *s, struct event *e, unsigned flags)
{
	struct graph_node *n;
	CUresult rc = capture_check(s);
	if (rc)
		return rc;
	if (flags & CU_EVENT_RECORD_EXTERNAL) {
		rc = capture_node(s, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &n);
		if (!rc)
			n->params.eventRecord.event = (CUevent)e;
		return rc;
	}
	capture_event_forget(e);
	e->capture = s->capture;
	e->capture_id = s->capture->id;
	e->capture_count = s->capture_count;
	e->capture_nodes = malloc((s->capture_count + 1) * sizeof(*e->capture_nodes));
	memcpy(e->capture_nodes, s->capture_nodes, s->capture_count * sizeof(*e->capture_nodes));
	return CUDA_SUCCESS;
}

static struct capture *event_capture(const struct event *e)
{
	for (struct capture *c = captures; c; c = c->next)
		if (c->id == e->capture_id && e->capture_nodes)
			return c;
	return NULL;
}

CUresult capture_event_wait(struct stream *s, struct event *e, unsigned flags)
{
	struct graph_node *n;
	struct capture *c = event_capture(e);
	if (s->capture && flags & CU_EVENT_WAIT_EXTERNAL) {
		CUresult rc = capture_node(s, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &n);
		if (!rc)
			n->params.eventWait.event = (CUevent)e;
		return rc;
	}
	if (!s->capture && !c)
		return e->capture_nodes ? CUDA_ERROR_CAPTURED_EVENT : capture_forbids(s);
	if (s->capture && !c) {
		s->capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (s->legacy) {
		c->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	if (s->capture && s->capture != c) {
		s->capture->invalid = c->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	s->capture = c;
	dependencies_add(s, e->capture_nodes, e->capture_count);
	return c->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

/* ---- the driver's calls ---- */

static CUresult capture_begin(CUstream handle, CUstreamCaptureMode mode, struct graph *graph,
			      struct graph_node *const *dependencies, size_t count)
{
	struct stream *s;
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	if (!rc && s->legacy)
		rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!rc && s->capture)
		rc = CUDA_ERROR_ILLEGAL_STATE;
	if (!rc) {
		struct capture *c = calloc(1, sizeof(*c));
		c->id = ++last_capture_id;
		c->own_graph = !graph;
		c->graph = graph ?: graph_create();
		c->origin = s;
		c->mode = mode;
		c->thread = engine_thread();
		c->next = captures;
		captures = c;
		s->capture = c;
		dependencies_set(s, dependencies, (int)count);
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	return capture_begin(stream, mode, NULL, NULL, 0);
}

CUresult sim_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
					 const CUgraphNode *dependencies,
					 const CUgraphEdgeData *edges, size_t count,
					 CUstreamCaptureMode mode)
{
	struct graph *g = graph_checked(graph);
	(void)edges;
	return g ? capture_begin(stream, mode, g, (struct graph_node *const *)dependencies, count)
		 : CUDA_ERROR_INVALID_VALUE;
}

static void ancestors_mark(struct graph_node *n)
{
	if (n->mark)
		return;
	n->mark = 1;
	for (int i = 0; i < n->dependency_count; i++)
		ancestors_mark(n->dependencies[i]);
}

/* Returns whether all nodes of other streams lead back to the stream where the capture began. */
static bool capture_joined(struct capture *c)
{
	bool joined = true;
	for (int i = 0; i < c->graph->node_count; i++)
		c->graph->nodes[i]->mark = 0;
	for (int i = 0; i < c->origin->capture_count; i++)
		ancestors_mark(c->origin->capture_nodes[i]);
	for (struct stream *s = c->origin->context->streams; s; s = s->next)
		for (int i = 0; s->capture == c && i < s->capture_count; i++)
			joined &= s->capture_nodes[i]->mark != 0;
	return joined;
}

static void capture_end(struct capture *c)
{
	for (struct stream *s = c->origin->context->streams; s; s = s->next) {
		if (s->capture != c)
			continue;
		s->capture = NULL;
		dependencies_set(s, NULL, 0);
	}
	for (struct capture **at = &captures; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	free(c);
}

CUresult sim_cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
	struct stream *s;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	struct capture *c = rc ? NULL : s->capture;
	if (!rc && !c)
		rc = CUDA_ERROR_ILLEGAL_STATE;
	else if (!rc && c->origin != s)
		rc = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	else if (!rc && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != engine_thread())
		rc = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	else if (!rc) {
		rc = c->invalid		 ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
		     : capture_joined(c) ? CUDA_SUCCESS
					 : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
		if (rc && c->own_graph)
			graph_destroy(c->graph);
		if (graph)
			*graph = rc ? NULL : (CUgraph)c->graph;
		capture_end(c);
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

static CUstreamCaptureStatus capture_status(const struct stream *s)
{
	if (!s->capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
				   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult sim_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
	struct stream *s;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	if (!rc && captures && capture_implied(s))
		rc = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	if (!rc)
		*status = capture_status(s);
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status,
				       cuuint64_t *id, CUgraph *graph,
				       const CUgraphNode **dependencies,
				       const CUgraphEdgeData **edges, size_t *count)
{
	struct stream *s;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	if (!rc && captures && capture_implied(s))
		rc = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	if (!rc) {
		*status = capture_status(s);
		bool active = *status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
		if (active && id)
			*id = s->capture->id;
		if (active && graph)
			*graph = (CUgraph)s->capture->graph;
		if (active && dependencies)
			*dependencies = (const CUgraphNode *)s->capture_nodes;
		if (active && edges)
			*edges = NULL;
		if (active && count)
			*count = s->capture_count;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status,
				       cuuint64_t *id, CUgraph *graph,
				       const CUgraphNode **dependencies, size_t *count)
{
	return sim_cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, NULL, count);
}

CUresult sim_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return sim_cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}

CUresult sim_cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *dependencies,
						  const CUgraphEdgeData *edges, size_t count,
						  unsigned flags)
{
	struct stream *s;
	(void)edges;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	if (!rc && !s->capture)
		rc = CUDA_ERROR_ILLEGAL_STATE;
	for (size_t i = 0; i < count && !rc; i++) {
		struct graph_node *n = node_checked(dependencies[i]);
		if (!n || n->graph != s->capture->graph)
			rc = CUDA_ERROR_INVALID_VALUE;
	}
	if (!rc && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		dependencies_set(s, (struct graph_node *const *)dependencies, (int)count);
	else if (!rc)
		dependencies_add(s, (struct graph_node *const *)dependencies, (int)count);
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies,
					       size_t count, unsigned flags)
{
	return sim_cuStreamUpdateCaptureDependencies_v2(stream, dependencies, NULL, count, flags);
}

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	struct cu_thread *t = engine_thread();
	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	CUstreamCaptureMode old = t->capture_mode;
	t->capture_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}
