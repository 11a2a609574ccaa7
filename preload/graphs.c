/* See graphs.h. The queries are of the driver, because it does not change the runtime's last
 * error. */
#include "preload/graphs.h"

#include "core/runtime/log.h"
#include "preload/lookup.h"
#include "preload/stack.h"
#include "preload/steps.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* Driver functions of CUDA 13.1, which older headers do not declare. */
enum { VERSION_OF_IDS = 13010 };

static struct {
	_Atomic bool are_found;
	CUresult (*info3)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
			  const CUgraphNode **, const CUgraphEdgeData **, size_t *);
	CUresult (*info2)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
			  const CUgraphNode **, size_t *);
	CUresult (*nodes)(CUgraph, CUgraphNode *, size_t *);
	CUresult (*local_id)(CUgraphNode, unsigned *);
	CUresult (*exec_id)(CUgraphExec, unsigned *);
} driver;

static void *find_new(void *handle, const char *name)
{
	CUresult (*find)(const char *, void **, int, cuuint64_t, void *) =
		(__typeof__(find))lookup_dlsym(handle, "cuGetProcAddress_v2");
	void *function = lookup_dlsym(handle, name);
	int status;
	if (!function && find && find(name, &function, VERSION_OF_IDS, 0, &status))
		function = NULL;
	return function;
}

/* Threads that do this at the same time store the same pointers. */
static void find_driver(void)
{
	if (atomic_load_explicit(&driver.are_found, memory_order_acquire))
		return;
	void *h = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (!h)
		return;
	driver.info3 = (__typeof__(driver.info3))lookup_dlsym(h, "cuStreamGetCaptureInfo_v3");
	driver.info2 = (__typeof__(driver.info2))lookup_dlsym(h, "cuStreamGetCaptureInfo_v2");
	driver.nodes = (__typeof__(driver.nodes))lookup_dlsym(h, "cuGraphGetNodes");
	driver.local_id = (__typeof__(driver.local_id))find_new(h, "cuGraphNodeGetLocalId");
	driver.exec_id = (__typeof__(driver.exec_id))find_new(h, "cuGraphExecGetId");
	lookup_forget_error();
	atomic_store_explicit(&driver.are_found, true, memory_order_release);
}

/* ---- What a stream captures ---- */

struct capture {
	CUstreamCaptureStatus status;
	CUgraph graph;
	/* the nodes on which the stream's next node will depend */
	const CUgraphNode *nodes;
	size_t n_nodes;
};

/*
 * Returns the stream of a call; 0: the legacy default stream, which cannot capture, and of which
 * the driver must not be asked during a capture.
 */
static CUstream stream_of(const struct rec_call *c)
{
	const char *symbol = hook_rows[c->hook].symbol;
	size_t n = strlen(symbol);
	bool is_twin = n > 5 &&
		       (!strcmp(&symbol[n - 5], "_ptsz") || !strcmp(&symbol[n - 5], "_ptds"));
	if (!c->stream && is_twin)
		return CU_STREAM_PER_THREAD;
	return c->stream == (uintptr_t)CU_STREAM_LEGACY ? NULL : (CUstream)c->stream;
}

/* Returns false if the driver does not answer. */
static bool ask(CUstream stream, struct capture *to)
{
	const CUgraphEdgeData *edges;
	*to = (struct capture){ 0 };
	find_driver();
	/* without `edges`, the driver refuses to answer for edges that have data */
	if (driver.info3)
		return !driver.info3(stream, &to->status, NULL, &to->graph, &to->nodes, &edges,
				     &to->n_nodes);
	return driver.info2 &&
	       !driver.info2(stream, &to->status, NULL, &to->graph, &to->nodes, &to->n_nodes);
}

bool graphs_is_captured(struct rec_call *c)
{
	int saved = errno;
	struct capture capture;
	CUstream stream = stream_of(c);
	bool is_captured = stream && ask(stream, &capture) &&
			   capture.status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
	errno = saved;
	if (is_captured) {
		c->detail |= REC_CALL_CAPTURED;
		hook_thread.fills++;
	}
	return is_captured;
}

/* ---- Captures in progress ---- */

enum { CAPTURES = 64 };

/* The streams with which captures have begun. */
static struct {
	_Atomic uint64_t stream; /* key_of(); 0: free */
	uint64_t graph;		 /* 0: the graph existed before the capture */
} captures[CAPTURES];

/* Returns a number for the stream. Each thread has a default stream of its own. */
static uint64_t key_of(CUstream stream)
{
	return stream == CU_STREAM_PER_THREAD ? (uintptr_t)&hook_thread : (uintptr_t)stream;
}

static bool keep_capture(uint64_t stream, uint64_t graph)
{
	for (size_t i = 0; i < CAPTURES; i++) {
		uint64_t none = 0;
		if (!atomic_compare_exchange_strong(&captures[i].stream, &none, stream))
			continue;
		captures[i].graph = graph;
		return true;
	}
	log_once(LOG_WARN,
		 "more than %d streams capture at the same time: the calls that further "
		 "streams capture are not recorded",
		 CAPTURES);
	return false;
}

static bool drop_capture(uint64_t stream, uint64_t *graph)
{
	for (size_t i = 0; i < CAPTURES; i++) {
		uint64_t key = stream;
		*graph = captures[i].graph;
		if (atomic_compare_exchange_strong(&captures[i].stream, &key, 0)) {
			steps_capture_over();
			return true;
		}
	}
	return false;
}

void graphs_capture_begun(const struct rec_call *c, int status, bool is_into)
{
	int saved = errno;
	struct capture capture;
	CUstream stream = stream_of(c);
	if (!status && stream && steps_want_graphs() && ask(stream, &capture) &&
	    capture.status == CU_STREAM_CAPTURE_STATUS_ACTIVE &&
	    keep_capture(key_of(stream), is_into ? 0 : (uintptr_t)capture.graph)) {
		if (!is_into)
			graphs_changed(GRAPH_MADE, 0, hook_ticks(), (uintptr_t)capture.graph, 0);
		steps_capture_begun();
	}
	errno = saved;
}

/* A call that fails may leave the capture in progress. */
void graphs_capture_ended(const struct rec_call *c, int status)
{
	int saved = errno;
	struct capture capture;
	CUstream stream = stream_of(c);
	uint64_t graph;
	bool goes_on = status && stream && ask(stream, &capture) &&
		       capture.status != CU_STREAM_CAPTURE_STATUS_NONE;
	if (stream && !goes_on && drop_capture(key_of(stream), &graph) && status && graph)
		graphs_changed(GRAPH_GONE, 0, c->begin_ticks, graph, 0);
	errno = saved;
}

void graphs_stream_gone(uint64_t stream)
{
	uint64_t graph;
	drop_capture(stream, &graph);
}

void graphs_streams_gone(void)
{
	uint64_t graph;
	for (size_t i = 0; i < CAPTURES; i++) {
		uint64_t stream = atomic_load(&captures[i].stream);
		if (stream)
			drop_capture(stream, &graph);
	}
}

void graphs_forget(void)
{
	for (size_t i = 0; i < CAPTURES; i++)
		atomic_store(&captures[i].stream, 0);
	atomic_store(&hook_switch.captures, 0);
}

/* ---- Records ---- */

/*
 * Changes of nodes that are in the journal already: a program may set a node's parameters before
 * each launch. Cleared when a graph is made, because it may have the handles of one that is gone.
 */
enum { CHANGES = 1024 };
static _Atomic uint64_t changes[CHANGES];
static _Atomic bool has_changes;

static void forget_changes(void)
{
	if (!atomic_exchange(&has_changes, false))
		return;
	for (size_t i = 0; i < CHANGES; i++)
		atomic_store_explicit(&changes[i], 0, memory_order_relaxed);
}

void graphs_node_changed(int status, uint64_t node, uint64_t exec)
{
	uint64_t key = (node ^ exec << 1) * 0x9E3779B97F4A7C15ull | 1;
	_Atomic uint64_t *at = &changes[key >> 54];
	if (status || atomic_exchange_explicit(at, key, memory_order_relaxed) == key)
		return;
	atomic_store(&has_changes, true);
	if (exec)
		graphs_changed(GRAPH_EXEC_CHANGED, 0, hook_ticks(), node, exec);
	else
		graphs_changed(GRAPH_NODE_CHANGED, 0, hook_ticks(), 0, node);
}

static void *reserve(enum record_kind kind, uint32_t bytes)
{
	void *to = journal_reserve(&hook_thread.writer, (uint8_t)kind, bytes);
	if (!hook_thread.has_end)
		hook_thread_keep();
	return to;
}

void graphs_changed(enum graph_event event, int status, uint64_t ticks, uint64_t graph, uint64_t of)
{
	if (status || !steps_want_graphs())
		return;
	int saved = errno;
	unsigned id = 0;
	find_driver();
	if (event == GRAPH_MADE || event == GRAPH_CLONED || event == GRAPH_INSTANTIATED)
		forget_changes();
	if (event == GRAPH_INSTANTIATED && driver.exec_id && driver.exec_id((CUgraphExec)of, &id))
		id = 0;
	struct rec_graph *r = reserve(REC_GRAPH, sizeof(*r));
	if (r) {
		*r = (struct rec_graph){
			.kind = REC_GRAPH,
			.words = sizeof(*r) / 8,
			.event = (uint16_t)event,
			.id = id,
			.ticks = ticks,
			.graph = graph,
			.of = of,
		};
		journal_commit(&hook_thread.writer, sizeof(*r));
	}
	errno = saved;
}

static enum node_type type_of(unsigned category)
{
	switch (category) {
	case CAT_LAUNCH:
		return NODE_KERNEL;
	case CAT_MEMCPY:
		return NODE_MEMCPY;
	case CAT_MEMSET:
		return NODE_MEMSET;
	default:
		return NODE_OTHER;
	}
}

/*
 * Sets `local` and its flag. Without the driver's own number, it is the number of nodes that the
 * graph had before this one. If other threads capture into the graph meanwhile, two nodes may get
 * the same number; the collector then uses neither.
 */
static void number(struct rec_node *r, CUgraph graph, CUgraphNode node)
{
	unsigned id;
	size_t n = 0;
	if (driver.local_id && !driver.local_id(node, &id)) {
		r->local = id;
		r->flags |= NODE_ID_IS_EXACT;
	} else if (driver.nodes && !driver.nodes(graph, NULL, &n) && n) {
		r->local = (uint32_t)n - 1;
	}
}

static void write_node(const struct rec_node *from)
{
	struct rec_node *r = reserve(REC_NODE, sizeof(*r));
	if (!r)
		return;
	*r = *from;
	journal_commit(&hook_thread.writer, sizeof(*r));
}

static void learn_shape(uint64_t token, const struct launch_shape *shape)
{
	if (shape->function && !launch_is_known(token))
		launch_learn(token, shape);
}

/* Fills the fields that a captured call and an added node have in common. */
static struct rec_node node_record(const struct rec_call *c, uint64_t graph, uint64_t node)
{
	uint64_t ticks = hook_ticks() - c->begin_ticks;
	struct rec_node r = {
		.kind = REC_NODE,
		.words = sizeof(r) / 8,
		.hook = c->hook,
		.begin_ticks = c->begin_ticks,
		.ticks = ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX,
		.graph = graph,
		.node = node,
		.stream = c->stream,
		.arg = c->arg,
		.device = hook_thread.device,
	};
	number(&r, (CUgraph)graph, (CUgraphNode)node);
	return r;
}

/* After a captured call, the stream's next node will depend on the call's node, and on no other. */
void graphs_called(struct rec_call *c, const struct launch_shape *shape,
		   const struct unwind_regs *regs)
{
	int saved = errno;
	unsigned category = hook_rows[c->hook].category;
	struct capture capture;
	CUstream stream = stream_of(c);
	if (!stream || !ask(stream, &capture) ||
	    capture.status != CU_STREAM_CAPTURE_STATUS_ACTIVE || capture.n_nodes != 1) {
		errno = saved;
		return;
	}
	struct rec_node r = node_record(c, (uintptr_t)capture.graph, (uintptr_t)capture.nodes[0]);
	r.type = (uint8_t)type_of(category);
	r.copy = category == CAT_MEMCPY ? (uint8_t)c->detail : 0;
	r.product = hook_thread.product;
	learn_shape(c->arg, shape);
	if (stack_masks().recorded >> category & 1)
		r.stack = stack_take(regs);
	write_node(&r);
	c->detail |= REC_CALL_CAPTURED;
	errno = saved;
}

/* The bodies of a conditional node are graphs of their own, which get their nodes later. */
static void write_bodies(struct rec_node *r, const void *params)
{
	const CUgraphNodeParams *p = params;
	r->type = NODE_CHILD;
	r->flags |= NODE_IS_BODY;
	for (unsigned i = 0; p->conditional.phGraph_out && i < p->conditional.size; i++) {
		r->arg = (uintptr_t)p->conditional.phGraph_out[i];
		graphs_changed(GRAPH_MADE, 0, hook_ticks(), r->arg, 0);
		r->begin_ticks = hook_ticks();
		write_node(r);
	}
}

void graphs_added(const struct rec_call *c, const struct launch_shape *shape, uint64_t graph,
		  uint64_t node, const void *params, const struct unwind_regs *regs)
{
	const CUgraphNodeParams *p = params;
	int saved = errno;
	if (!steps_want_graphs())
		return;
	find_driver();
	struct rec_node r = node_record(c, graph, node);
	r.type = (uint8_t)c->detail;
	learn_shape(c->arg, shape);
	if (stack_masks().recorded >> CAT_NODE & 1)
		r.stack = stack_take(regs);
	if (p && p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		write_bodies(&r, params);
	else
		write_node(&r);
	errno = saved;
}

/* ---- Parameters of nodes ---- */

void graphs_take_node(struct rec_call *c, enum node_type type, uint64_t arg)
{
	c->begin_ticks = hook_ticks();
	c->detail = type;
	c->arg = arg;
}

void graphs_take_kernel(struct rec_call *c, struct launch_shape *shape,
			const struct launch_shape *from)
{
	if (shape) /* NULL only in hooks of launches, which add no nodes */
		*shape = *from;
	graphs_take_node(c, NODE_KERNEL, token_launch(from->function, from->grid, from->block));
}

void graphs_take_driver(struct rec_call *c, struct launch_shape *shape, const void *params)
{
	const CUgraphNodeParams *p = params;
	graphs_take_node(c, NODE_OTHER, 0);
	if (!p)
		return;
	if (p->type == CU_GRAPH_NODE_TYPE_KERNEL)
		graphs_take_kernel(
			c, shape,
			&(struct launch_shape){
				(uintptr_t)p->kernel.func ?: (uintptr_t)p->kernel.kern,
				{ p->kernel.gridDimX, p->kernel.gridDimY, p->kernel.gridDimZ },
				{ p->kernel.blockDimX, p->kernel.blockDimY, p->kernel.blockDimZ },
				p->kernel.sharedMemBytes });
	else if (p->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		graphs_take_node(c, NODE_MEMCPY,
				 (uint64_t)p->memcpy.copyParams.WidthInBytes *
					 p->memcpy.copyParams.Height * p->memcpy.copyParams.Depth);
	else if (p->type == CU_GRAPH_NODE_TYPE_MEMSET)
		graphs_take_node(c, NODE_MEMSET,
				 (uint64_t)p->memset.elementSize * p->memset.width *
					 p->memset.height);
	else if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
		graphs_take_node(c, NODE_CHILD, (uintptr_t)p->graph.graph);
}

void graphs_take_runtime(struct rec_call *c, struct launch_shape *shape, const void *params)
{
	const struct cudaGraphNodeParams *p = params;
	if (!p || p->type == cudaGraphNodeTypeGraph || p->type == cudaGraphNodeTypeMemset) {
		graphs_take_driver(c, shape, params); /* the same layout */
		return;
	}
	graphs_take_node(c, NODE_OTHER, 0);
	if (p->type == cudaGraphNodeTypeKernel) {
		const struct cudaKernelNodeParamsV2 *k = &p->kernel;
		graphs_take_kernel(
			c, shape,
			&(struct launch_shape){ (uintptr_t)k->func,
						{ k->gridDim.x, k->gridDim.y, k->gridDim.z },
						{ k->blockDim.x, k->blockDim.y, k->blockDim.z },
						k->sharedMemBytes });
	} else if (p->type == cudaGraphNodeTypeMemcpy) {
		const struct cudaExtent *e = &p->memcpy.copyParams.extent;
		graphs_take_node(c, NODE_MEMCPY, (uint64_t)e->width * e->height * e->depth);
	}
}
