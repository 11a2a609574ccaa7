/*
 * Graphs as data: nodes, edges, clones. Runs on the application's threads; engine_lock guards
 * everything.
 */
#include "test/sim/engine_graph.h"

#include <stdio.h>

/*
 * Destroyed objects of one type. The last one destroyed is the next one created, so that a handle
 * soon means another object, as with the real driver's allocator.
 */
struct spares {
	void **list;
	int count, room;
};
static struct spares spare_graphs, spare_nodes;

static void *spare_take(struct spares *s, size_t bytes)
{
	return s->count ? memset(s->list[--s->count], 0, bytes) : calloc(1, bytes);
}

static void spare_give(struct spares *s, void *object)
{
	if (s->count == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		s->list = realloc(s->list, (size_t)s->room * sizeof(*s->list));
	}
	s->list[s->count++] = object;
}

struct graph *graph_checked(CUgraph handle)
{
	struct graph *g = (struct graph *)handle;
	return g && g->magic == GRAPH_MAGIC ? g : NULL;
}

struct graph_node *node_checked(CUgraphNode handle)
{
	struct graph_node *n = (struct graph_node *)handle;
	return n && n->magic == NODE_MAGIC ? n : NULL;
}

struct graph *graph_create(void)
{
	struct graph *g = spare_take(&spare_graphs, sizeof(*g));
	g->magic = GRAPH_MAGIC;
	g->id = graph_id_next();
	return g;
}

static void node_free(struct graph_node *n)
{
	if (n->child)
		graph_destroy(n->child);
	for (int i = 0; i < n->body_count; i++)
		graph_destroy(n->bodies[i]);
	free(n->bodies);
	n->magic = 0;
	free(n->dependencies);
	spare_give(&spare_nodes, n);
}

void graph_destroy(struct graph *g)
{
	for (int i = 0; i < g->node_count; i++)
		node_free(g->nodes[i]);
	g->magic = 0;
	free(g->nodes);
	spare_give(&spare_graphs, g);
}

CUresult node_depend(struct graph_node *n, struct graph_node *on)
{
	for (int i = 0; i < n->dependency_count; i++)
		if (n->dependencies[i] == on)
			return CUDA_SUCCESS;
	if (on->graph != n->graph || on == n)
		return CUDA_ERROR_INVALID_VALUE;
	n->dependencies =
		realloc(n->dependencies, (n->dependency_count + 1) * sizeof(*n->dependencies));
	n->dependencies[n->dependency_count++] = on;
	return CUDA_SUCCESS;
}

struct graph_node *node_add(struct graph *g, CUgraphNodeType type,
			    struct graph_node *const *dependencies, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!node_checked((CUgraphNode)dependencies[i]) || dependencies[i]->graph != g)
			return NULL;
	struct graph_node *n = spare_take(&spare_nodes, sizeof(*n));
	n->magic = NODE_MAGIC;
	n->number = ++g->last_node;
	n->local_id = node_local_id(n->number);
	n->graph = g;
	n->params.type = type;
	for (size_t i = 0; i < count; i++)
		node_depend(n, dependencies[i]);
	/* Double the room whenever the count is a power of two. */
	if ((g->node_count & (g->node_count - 1)) == 0)
		g->nodes = realloc(g->nodes,
				   (g->node_count ? g->node_count * 2 : 1) * sizeof(*g->nodes));
	g->nodes[g->node_count++] = n;
	return n;
}

void node_remove(struct graph_node *n)
{
	struct graph *g = n->graph;
	int kept = 0;
	for (int i = 0; i < g->node_count; i++) {
		struct graph_node *other = g->nodes[i];
		if (other == n)
			continue;
		int left = 0;
		for (int k = 0; k < other->dependency_count; k++)
			if (other->dependencies[k] != n)
				other->dependencies[left++] = other->dependencies[k];
		other->dependency_count = left;
		g->nodes[kept++] = other;
	}
	g->node_count = kept;
	node_free(n);
}

struct graph *graph_clone(struct graph *g)
{
	struct graph *copy = graph_create();
	copy->original = g;
	copy->last_node = g->last_node;
	copy->node_count = g->node_count;
	int room = 1;
	while (room < g->node_count)
		room *= 2;
	copy->nodes = calloc(room, sizeof(*copy->nodes));
	for (int i = 0; i < g->node_count; i++) {
		struct graph_node *n = spare_take(&spare_nodes, sizeof(*n));
		*n = *g->nodes[i];
		n->tools_id = 0;
		n->graph = copy;
		n->original = g->nodes[i];
		n->child = n->child ? graph_clone(n->child) : NULL;
		if (n->body_count)
			condition_clone(n, g->nodes[i]);
		n->dependencies = NULL;
		n->dependency_count = 0;
		copy->nodes[i] = n;
		g->nodes[i]->mark = i;
	}
	for (int i = 0; i < g->node_count; i++)
		for (int k = 0; k < g->nodes[i]->dependency_count; k++)
			node_depend(copy->nodes[i],
				    copy->nodes[g->nodes[i]->dependencies[k]->mark]);
	return copy;
}

/* Sorts nodes so that each comes after its dependencies, and otherwise by order of creation. */
bool graph_sort(struct graph *g)
{
	struct graph_node **sorted = malloc((g->node_count + 1) * sizeof(*sorted));
	int done = 0, before = -1;
	for (int i = 0; i < g->node_count; i++)
		g->nodes[i]->mark = 0;
	while (done < g->node_count && done != before) {
		before = done;
		for (int i = 0; i < g->node_count; i++) {
			struct graph_node *n = g->nodes[i];
			bool ready = !n->mark;
			for (int k = 0; k < n->dependency_count && ready; k++)
				ready = n->dependencies[k]->mark;
			if (!ready)
				continue;
			n->mark = 1;
			sorted[done++] = n;
		}
	}
	bool whole = done == g->node_count;
	if (whole)
		memcpy(g->nodes, sorted, done * sizeof(*sorted));
	free(sorted);
	return whole;
}

/* ---- the driver's calls ---- */

#define LOCKED(expression)                          \
	({                                          \
		pthread_mutex_lock(&engine_lock);   \
		CUresult locked_rc = (expression);  \
		pthread_mutex_unlock(&engine_lock); \
		locked_rc;                          \
	})

CUresult sim_cuGraphCreate(CUgraph *graph, unsigned flags)
{
	if (!graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	*graph = (CUgraph)graph_create();
	pthread_mutex_unlock(&engine_lock);
	return CUDA_SUCCESS;
}

static CUresult destroy_checked(struct graph *g)
{
	if (!g || g->owned)
		return CUDA_ERROR_INVALID_VALUE;
	graph_destroy(g);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphDestroy(CUgraph graph)
{
	return LOCKED(destroy_checked(graph_checked(graph)));
}

CUresult sim_cuGraphDestroyNode(CUgraphNode node)
{
	struct graph_node *n = node_checked(node);
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	node_remove(n);
	pthread_mutex_unlock(&engine_lock);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphClone(CUgraph *copy, CUgraph graph)
{
	struct graph *g = graph_checked(graph);
	if (!g || !copy)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	bool can_clone = !graph_has_type(g, CU_GRAPH_NODE_TYPE_CONDITIONAL);
	if (can_clone)
		*copy = (CUgraph)graph_clone(g);
	pthread_mutex_unlock(&engine_lock);
	return can_clone ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode original, CUgraph clone)
{
	struct graph *g = graph_checked(clone);
	for (int i = 0; g && i < g->node_count; i++)
		if ((CUgraphNode)g->nodes[i]->original == original) {
			*node = (CUgraphNode)g->nodes[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	struct graph_node *n = node_checked(node);
	if (!n || !type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = n->params.type;
	return CUDA_SUCCESS;
}

/*
 * Returns a list as the driver does. Callers request a list twice: first with `out` NULL to get its
 * length, then with room for it. Surplus room is filled with NULL.
 */
static CUresult nodes_list(struct graph_node *const *list, size_t length, CUgraphNode *out,
			   size_t *count)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; out && i < *count; i++)
		out[i] = i < length ? (CUgraphNode)list[i] : NULL;
	if (!out || *count > length)
		*count = length;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	struct graph *g = graph_checked(graph);
	return g ? LOCKED(nodes_list(g->nodes, g->node_count, nodes, count))
		 : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	struct graph *g = graph_checked(graph);
	if (!g)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	struct graph_node **roots = calloc(g->node_count + 1, sizeof(*roots));
	size_t length = 0;
	for (int i = 0; i < g->node_count; i++)
		if (!g->nodes[i]->dependency_count)
			roots[length++] = g->nodes[i];
	CUresult rc = nodes_list(roots, length, nodes, count);
	pthread_mutex_unlock(&engine_lock);
	free(roots);
	return rc;
}

CUresult sim_cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
				CUgraphEdgeData *data, size_t *count)
{
	struct graph *g = graph_checked(graph);
	if (!g || !count)
		return CUDA_ERROR_INVALID_VALUE;
	size_t found = 0;
	pthread_mutex_lock(&engine_lock);
	for (int i = 0; i < g->node_count; i++)
		for (int k = 0; k < g->nodes[i]->dependency_count; k++, found++) {
			if (!from || !to || found >= *count)
				continue;
			from[found] = (CUgraphNode)g->nodes[i]->dependencies[k];
			to[found] = (CUgraphNode)g->nodes[i];
			if (data)
				memset(&data[found], 0, sizeof(*data));
		}
	pthread_mutex_unlock(&engine_lock);
	if (!from || *count > found)
		*count = found;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	return sim_cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

CUresult sim_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *list,
					   CUgraphEdgeData *data, size_t *count)
{
	struct graph_node *n = node_checked(node);
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	if (data && count && list)
		memset(data, 0, *count * sizeof(*data));
	return LOCKED(nodes_list(n->dependencies, n->dependency_count, list, count));
}

CUresult sim_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *list, size_t *count)
{
	return sim_cuGraphNodeGetDependencies_v2(node, list, NULL, count);
}

CUresult sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *list,
					     CUgraphEdgeData *data, size_t *count)
{
	struct graph_node *n = node_checked(node);
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	struct graph *g = n->graph;
	struct graph_node **found = calloc(g->node_count, sizeof(*found));
	size_t length = 0;
	for (int i = 0; i < g->node_count; i++)
		for (int k = 0; k < g->nodes[i]->dependency_count; k++)
			if (g->nodes[i]->dependencies[k] == n)
				found[length++] = g->nodes[i];
	if (data && count && list)
		memset(data, 0, *count * sizeof(*data));
	CUresult rc = nodes_list(found, length, list, count);
	pthread_mutex_unlock(&engine_lock);
	free(found);
	return rc;
}

CUresult sim_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *list, size_t *count)
{
	return sim_cuGraphNodeGetDependentNodes_v2(node, list, NULL, count);
}

static CUresult edge_add(CUgraphNode from, CUgraphNode to)
{
	struct graph_node *a = node_checked(from), *b = node_checked(to);
	return a && b ? node_depend(b, a) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult edge_remove(CUgraphNode from, CUgraphNode to)
{
	struct graph_node *b = node_checked(to);
	int left = 0;
	if (!b)
		return CUDA_ERROR_INVALID_VALUE;
	for (int k = 0; k < b->dependency_count; k++)
		if ((CUgraphNode)b->dependencies[k] != from)
			b->dependencies[left++] = b->dependencies[k];
	bool was_there = left < b->dependency_count;
	b->dependency_count = left;
	return was_there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult edges_change(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
			     size_t count, CUresult (*change)(CUgraphNode, CUgraphNode))
{
	CUresult rc = graph_checked(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	for (size_t i = 0; i < count && !rc; i++)
		rc = change(from[i], to[i]);
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
				       const CUgraphNode *to, const CUgraphEdgeData *data,
				       size_t count)
{
	(void)data;
	return edges_change(graph, from, to, count, edge_add);
}

CUresult sim_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				    size_t count)
{
	return sim_cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

CUresult sim_cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from,
					  const CUgraphNode *to, const CUgraphEdgeData *data,
					  size_t count)
{
	(void)data;
	return edges_change(graph, from, to, count, edge_remove);
}

CUresult sim_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from,
				       const CUgraphNode *to, size_t count)
{
	return sim_cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

CUresult sim_cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned flags)
{
	struct graph *g = graph_checked(graph);
	FILE *f = g && path ? fopen(path, "w") : NULL;
	(void)flags;
	if (!f)
		return CUDA_ERROR_INVALID_VALUE;
	fprintf(f, "digraph dot {\n");
	for (int i = 0; i < g->node_count; i++) {
		struct graph_node *n = g->nodes[i];
		fprintf(f, "\"graph_%u_node_%u\" [label=\"%s\"];\n", g->id, n->local_id,
			n->launch.kernel ? n->launch.kernel->name : "");
		for (int k = 0; k < n->dependency_count; k++)
			fprintf(f, "\"graph_%u_node_%u\" -> \"graph_%u_node_%u\";\n", g->id,
				n->dependencies[k]->local_id, g->id, n->local_id);
	}
	fprintf(f, "}\n");
	return fclose(f) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

/* ---- objects that a graph keeps alive ---- */

struct user_object {
	CUhostFn destroy;
	void *data;
	unsigned references;
};

CUresult sim_cuUserObjectCreate(CUuserObject *object, void *data, CUhostFn destroy,
				unsigned references, unsigned flags)
{
	if (!object || !destroy || !references || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	struct user_object *o = malloc(sizeof(*o));
	*o = (struct user_object){ destroy, data, references };
	*object = (CUuserObject)o;
	return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRetain(CUuserObject object, unsigned count)
{
	__atomic_add_fetch(&((struct user_object *)object)->references, count, __ATOMIC_SEQ_CST);
	return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRelease(CUuserObject object, unsigned count)
{
	struct user_object *o = (struct user_object *)object;
	if (__atomic_sub_fetch(&o->references, count, __ATOMIC_SEQ_CST))
		return CUDA_SUCCESS;
	o->destroy(o->data);
	free(o);
	return CUDA_SUCCESS;
}

/* The graph's reference is never released, so the object lives until the process ends. */
CUresult sim_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count,
				     unsigned flags)
{
	if (!graph_checked(graph))
		return CUDA_ERROR_INVALID_VALUE;
	return flags & CU_GRAPH_USER_OBJECT_MOVE ? CUDA_SUCCESS
						 : sim_cuUserObjectRetain(object, count);
}

CUresult sim_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count)
{
	return graph_checked(graph) ? sim_cuUserObjectRelease(object, count)
				    : CUDA_ERROR_INVALID_VALUE;
}
