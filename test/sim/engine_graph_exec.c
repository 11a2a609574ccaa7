/*
 * Executable graphs: instantiation, launches, updates. A launch submits every node in dependency
 * order. All of its operations have the launch's correlation id, the executable graph's id and
 * their own node id. Runs on the application's threads.
 */
#include "test/sim/engine_graph.h"

static uint32_t finalized; /* how often CUPTI was finalized */
/* The one destroyed last: the next one gets its address, as with the real driver's allocator. */
static struct graph_exec *spare_exec;

struct graph_exec *exec_checked(CUgraphExec handle)
{
	struct graph_exec *e = (struct graph_exec *)handle;
	return e && e->magic == EXEC_MAGIC ? e : NULL;
}

struct graph_node *exec_node(struct graph_exec *e, CUgraphNode original)
{
	for (int i = 0; i < e->graph->node_count; i++)
		if ((CUgraphNode)e->graph->nodes[i]->original == original)
			return e->graph->nodes[i];
	return NULL;
}

static bool graph_sort_all(struct graph *g)
{
	bool whole = graph_sort(g);
	for (int i = 0; i < g->node_count && whole; i++)
		whole = !g->nodes[i]->child || graph_sort_all(g->nodes[i]->child);
	for (int i = 0; i < g->node_count && whole; i++)
		for (int k = 0; k < g->nodes[i]->body_count && whole; k++)
			whole = graph_sort_all(g->nodes[i]->bodies[k]);
	return whole;
}

CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	struct graph *g = graph_checked(graph);
	if (!g || !exec)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = conditions_check(g);
	if (rc) {
		pthread_mutex_unlock(&engine_lock);
		return rc;
	}
	struct graph_exec *e = spare_exec ?: malloc(sizeof(*e));
	spare_exec = NULL;
	memset(e, 0, sizeof(*e));
	e->magic = EXEC_MAGIC;
	e->flags = flags;
	e->finalized = finalized;
	e->graph = graph_clone(g);
	exec_ids_set(e);
	bool whole = graph_sort_all(e->graph);
	if (!whole) {
		graph_destroy(e->graph);
		free(e);
	}
	pthread_mutex_unlock(&engine_lock);
	*exec = whole ? (CUgraphExec)e : NULL;
	return whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
					  CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult rc = sim_cuGraphInstantiateWithFlags(exec, graph, params->flags);
	params->hErrNode_out = NULL;
	params->result_out = rc == CUDA_ERROR_NOT_SUPPORTED
				     ? CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
			     : rc ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
				  : CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return rc;
}

CUresult sim_cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error, char *log,
				   size_t bytes)
{
	if (error)
		*error = NULL;
	if (log && bytes)
		*log = 0;
	return sim_cuGraphInstantiateWithFlags(exec, graph, 0);
}

CUresult sim_cuGraphExecDestroy(CUgraphExec exec)
{
	struct graph_exec *e = exec_checked(exec);
	if (!e)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	e->magic = 0;
	graph_destroy(e->graph);
	op_release(&e->last);
	free(spare_exec);
	spare_exec = e;
	pthread_mutex_unlock(&engine_lock);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
	struct graph_exec *e = exec_checked(exec);
	if (!e || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = e->flags;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
	struct graph_exec *e = exec_checked(exec);
	struct graph_node *n = e ? exec_node(e, node) : NULL;
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	n->disabled = !enabled;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *enabled)
{
	struct graph_exec *e = exec_checked(exec);
	struct graph_node *n = e ? exec_node(e, node) : NULL;
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	*enabled = !n->disabled;
	return CUDA_SUCCESS;
}

/* ---- update ---- */

/* Finds the node that corresponds to node `number` of another graph. Clones and sorting keep the
 * numbers. */
static struct graph_node *node_by_number(struct graph *g, uint32_t number)
{
	for (int i = 0; i < g->node_count; i++)
		if (g->nodes[i]->number == number)
			return g->nodes[i];
	return NULL;
}

static CUgraphExecUpdateResult graph_update(struct graph *to, struct graph *from,
					    CUgraphNode *error)
{
	if (to->node_count != from->node_count)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (int i = 0; i < from->node_count; i++) {
		struct graph_node *b = from->nodes[i], *a = node_by_number(to, b->number);
		*error = (CUgraphNode)b;
		if (!a || a->dependency_count != b->dependency_count)
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		if (a->params.type != b->params.type)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		if (a->child && graph_update(a->child, b->child, error))
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		if (a->body_count != b->body_count)
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		for (int k = 0; k < a->body_count; k++)
			if (graph_update(a->bodies[k], b->bodies[k], error))
				return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		CUgraph own = a->params.graph.graph;
		a->params = b->params;
		if (a->child)
			a->params.graph.graph = own;
		if (a->body_count)
			a->params.conditional.phGraph_out = (CUgraph *)a->bodies;
		a->launch = b->launch;
		a->move = b->move;
		a->original = b;
	}
	*error = NULL;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUresult sim_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
				  CUgraphExecUpdateResultInfo *info)
{
	struct graph_exec *e = exec_checked(exec);
	struct graph *g = graph_checked(graph);
	CUgraphNode error = NULL;
	if (!e || !g || !info)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	CUgraphExecUpdateResult result = graph_update(e->graph, g, &error);
	pthread_mutex_unlock(&engine_lock);
	*info = (CUgraphExecUpdateResultInfo){ .result = result, .errorNode = error };
	return result ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS;
}

CUresult sim_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error,
			       CUgraphExecUpdateResult *result)
{
	CUgraphExecUpdateResultInfo info;
	CUresult rc = sim_cuGraphExecUpdate_v2(exec, graph, &info);
	if (error)
		*error = info.errorNode;
	if (result)
		*result = info.result;
	return rc;
}

/* ---- launch ---- */

/*
 * Makes launches of all existing executable graphs fail. cuptiFinalize removes what CUPTI has put
 * into an executable graph, and a later launch of that graph then fails on the device (seen on an
 * H100, CUDA 13.0). Here the launch call itself fails.
 */
void engine_graphs_break(void)
{
	pthread_mutex_lock(&engine_lock);
	finalized++;
	pthread_mutex_unlock(&engine_lock);
}

/* The operations of one launch. They are published and run after engine_lock is released. */
struct flight {
	struct graph_exec *exec;
	struct stream *stream;
	uint32_t correlation;
	int64_t not_before_ns;
	struct flying {
		struct op_request request;
		struct when end;
	} * ops;
	int count, room;
};

struct host_call {
	CUhostFn function;
	void *data;
};

static void host_run(void *arg)
{
	struct host_call *call = arg;
	call->function(call->data);
	free(call);
}

static void move_run_and_free(void *move)
{
	move_run(move);
	free(move);
}

/* Describes a node's operation. Returns false if the node takes no time on the device. Requires
 * engine_lock. */
static bool node_describe(struct flight *f, struct graph_node *n, struct op_request *r)
{
	struct host_call *call;
	struct move *m;
	if (n->disabled)
		return false;
	switch (n->params.type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		__atomic_add_fetch(&f->stream->context->kernels, 1, __ATOMIC_RELAXED);
		f->stream->result = n->launch.kernel->result;
		return !kernel_describe(&n->launch, r);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
	case CU_GRAPH_NODE_TYPE_MEMSET:
		m = malloc(sizeof(*m));
		*m = n->move;
		m->context = f->stream->context;
		m->result = stream_result(f->stream);
		if (move_describe_locked(m, r)) {
			free(m);
			return false;
		}
		r->action = move_run_and_free;
		r->arg = m;
		if (m->is_set)
			r->desc.u.set.async = true;
		else
			r->desc.u.copy.async = true;
		return true;
	case CU_GRAPH_NODE_TYPE_HOST:
		call = malloc(sizeof(*call));
		*call = (struct host_call){ n->params.host.fn, n->params.host.userData };
		r->host = true;
		r->action = host_run;
		r->arg = call;
		r->desc.kind = SIM_OP_HOST;
		r->desc.name = "host_function";
		return true;
	default:
		return false;
	}
}

static void flight_add(struct flight *f, struct graph_node *n, const struct when *deps, int count)
{
	struct op_request r = { .not_before_ns = f->not_before_ns };
	if (!node_describe(f, n, &r)) {
		n->end = op_join(deps, count);
		return;
	}
	r.desc.correlation = f->correlation;
	r.desc.graph = f->exec->id;
	r.desc.graph_node = node_tools_id(n);
	r.desc.stream = f->stream->id;
	r.desc.context = f->stream->context->id;
	r.desc.device = f->stream->context->device->ordinal;
	n->end = op_submit(&r, deps, count);
	if (f->count == f->room) {
		f->room = f->room ? f->room * 2 : 64;
		f->ops = realloc(f->ops, f->room * sizeof(*f->ops));
	}
	f->ops[f->count++] = (struct flying){ r, op_reference(n->end) };
}

static void event_node_run(struct graph_node *n)
{
	bool records = n->params.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD;
	if (!records && n->params.type != CU_GRAPH_NODE_TYPE_WAIT_EVENT)
		return;
	struct event *e = event_checked(n->params.eventWait.event);
	if (e && records) {
		op_assign(&e->at, op_reference(n->end));
		e->recorded = true;
	} else if (e && e->recorded) {
		struct when both[2] = { n->end, e->at };
		op_assign(&n->end, op_join(both, 2));
	}
}

static struct when graph_fly(struct flight *f, struct graph *g, struct when start);

/* Submits the bodies that a conditional node runs, one after another. */
static void condition_fly(struct flight *f, struct graph_node *n, const struct when *deps,
			  int count)
{
	struct graph *body;
	n->end = op_join(deps, count);
	for (int i = 0; !n->disabled && (body = condition_body(n, i)); i++)
		op_assign(&n->end, graph_fly(f, body, n->end));
}

/* Submits the nodes of a graph. `start`: when its root nodes may run. Returns when its last node
 * ends. Requires engine_lock. */
static struct when graph_fly(struct flight *f, struct graph *g, struct when start)
{
	struct when *moments = calloc(g->node_count + 2, sizeof(*moments));
	for (int i = 0; i < g->node_count; i++) {
		struct graph_node *n = g->nodes[i];
		int count = 0;
		moments[count++] = start;
		for (int k = 0; k < n->dependency_count; k++)
			moments[count++] = n->dependencies[k]->end;
		if (n->child && !n->disabled) {
			struct when begin = op_join(moments, count);
			n->end = graph_fly(f, n->child, begin);
			op_release(&begin);
		} else if (n->body_count) {
			condition_fly(f, n, moments, count);
		} else {
			flight_add(f, n, moments, count);
			event_node_run(n);
		}
	}
	int count = 0;
	moments[count++] = start;
	for (int i = 0; i < g->node_count; i++)
		moments[count++] = g->nodes[i]->end;
	struct when end = op_join(moments, count);
	for (int i = 0; i < g->node_count; i++)
		op_release(&g->nodes[i]->end);
	free(moments);
	return end;
}

static void flight_publish(struct flight *f)
{
	bool watched = engine_watched();
	for (int i = 0; i < f->count; i++) {
		struct op_request *r = &f->ops[i].request;
		if (watched)
			engine_publish(&r->desc);
		if (r->desc.resolved && r->action)
			r->action(r->arg);
		op_published(&f->ops[i].end);
	}
	pthread_mutex_lock(&engine_lock);
	for (int i = 0; i < f->count; i++)
		op_release(&f->ops[i].end);
	pthread_mutex_unlock(&engine_lock);
	free(f->ops);
}

/* Publishes the whole launch as one operation, for consumers that trace graphs instead of nodes. */
static void graph_publish(struct flight *f, struct when begin, struct when end)
{
	if (!(engine_flags & ENGINE_SINK) || end.op || begin.op)
		return;
	struct sim_op op = { .kind = SIM_OP_GRAPH, .resolved = true };
	op.start_ns = begin.ns > f->not_before_ns ? begin.ns : f->not_before_ns;
	op.end_ns = end.ns > op.start_ns ? end.ns : op.start_ns;
	op.device = f->stream->context->device->ordinal;
	op.context = f->stream->context->id;
	op.stream = f->stream->id;
	op.correlation = f->correlation;
	op.graph = f->exec->id;
	engine_publish(&op);
}

CUresult sim_cuGraphLaunch(CUgraphExec exec, CUstream handle)
{
	struct graph_exec *e = exec_checked(exec);
	struct flight f = { .exec = e };
	struct when deps[OP_MAX_DEPS + 1];
	int64_t host_end = sim_now_ns() + engine_ns(engine_settings.launch_us), queue_wait = 0;
	if (!e)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &f.stream);
	if (!rc && capture_active(f.stream))
		rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; /* as on an H200 with CUDA 13.0 */
	else if (!rc && e->finalized != finalized)
		rc = f.stream->context->error = CUDA_ERROR_LAUNCH_FAILED;
	else if (!rc) {
		f.correlation = engine_correlation(engine_thread());
		f.not_before_ns = host_end + engine_ns(engine_settings.latency_us);
		int count = stream_dependencies(f.stream, deps);
		deps[count++] = e->last;
		struct when begin = op_join(deps, count);
		struct when end = graph_fly(&f, e->graph, begin);
		op_assign(&f.stream->tail, op_reference(end));
		op_assign(&e->last, op_reference(end));
		if (!end.op)
			stream_queue_note(f.stream, end.ns, &queue_wait);
		pthread_mutex_unlock(&engine_lock);
		graph_publish(&f, begin, end);
		flight_publish(&f);
		pthread_mutex_lock(&engine_lock);
		op_release(&begin);
		op_release(&end);
		pthread_mutex_unlock(&engine_lock);
		sim_wait_until(queue_wait > host_end ? queue_wait : host_end);
		return CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuGraphUpload(CUgraphExec exec, CUstream handle)
{
	struct stream *s;
	if (!exec_checked(exec))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	pthread_mutex_unlock(&engine_lock);
	return rc;
}
