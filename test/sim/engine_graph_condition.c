/*
 * Conditional graph nodes (if, while, switch) and the values that decide what they run. A kernel
 * would set the value, but kernels do not run here. So a value is the default that the application
 * has assigned; without one it is 1 for an if, which then runs, and 0 for a switch. A while loop
 * ends after PROFSIM_WHILE iterations. Runs on the application's threads; engine_lock guards
 * everything.
 */
#include "test/sim/engine_graph.h"

#define CONDITION_MAGIC 0x434f4e31u

/* What a CUgraphConditionalHandle is the address of. Never freed, because clones and executable
 * graphs use it too. */
struct condition {
	uint32_t magic;
	struct graph *graph;
	unsigned value;
	bool is_assigned; /* at each launch */
	bool is_used;
};

static struct condition *condition_checked(CUgraphConditionalHandle handle)
{
	struct condition *c = (struct condition *)(uintptr_t)handle;
	return c && !(handle & 7) && c->magic == CONDITION_MAGIC ? c : NULL;
}

CUresult sim_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph,
					    CUcontext context, unsigned value, unsigned flags)
{
	struct graph *g = graph_checked(graph);
	if (!handle || !g || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT ||
	    (context && !engine_context_checked(context)))
		return CUDA_ERROR_INVALID_VALUE;
	struct condition *c = calloc(1, sizeof(*c));
	c->magic = CONDITION_MAGIC;
	c->graph = g;
	c->value = value;
	c->is_assigned = flags & CU_GRAPH_COND_ASSIGN_DEFAULT;
	*handle = (uintptr_t)c;
	return CUDA_SUCCESS;
}

CUresult condition_set(struct graph_node *n)
{
	CUDA_CONDITIONAL_NODE_PARAMS *p = &n->params.conditional;
	struct condition *c = condition_checked(p->handle);
	unsigned most = p->type == CU_GRAPH_COND_TYPE_IF      ? 2
			: p->type == CU_GRAPH_COND_TYPE_WHILE ? 1
							      : UINT16_MAX;
	if (!c || c->is_used || (unsigned)p->type > CU_GRAPH_COND_TYPE_SWITCH || !p->size ||
	    p->size > most)
		return CUDA_ERROR_INVALID_VALUE;
	c->is_used = true;
	n->bodies = calloc(p->size, sizeof(*n->bodies));
	n->body_count = (int)p->size;
	for (int i = 0; i < n->body_count; i++) {
		n->bodies[i] = graph_create();
		n->bodies[i]->owned = true;
	}
	p->phGraph_out = (CUgraph *)n->bodies;
	return CUDA_SUCCESS;
}

void condition_clone(struct graph_node *to, const struct graph_node *from)
{
	to->bodies = calloc((size_t)from->body_count, sizeof(*to->bodies));
	for (int i = 0; i < from->body_count; i++)
		to->bodies[i] = graph_clone(from->bodies[i]);
	to->params.conditional.phGraph_out = (CUgraph *)to->bodies;
}

struct graph *condition_body(const struct graph_node *n, int iteration)
{
	const CUDA_CONDITIONAL_NODE_PARAMS *p = &n->params.conditional;
	const struct condition *c = condition_checked(p->handle);
	unsigned value = c->is_assigned ? c->value : p->type != CU_GRAPH_COND_TYPE_SWITCH;
	if (p->type == CU_GRAPH_COND_TYPE_WHILE)
		return value && iteration < (int)engine_settings.loops ? n->bodies[0] : NULL;
	unsigned body = p->type == CU_GRAPH_COND_TYPE_IF ? !value : value;
	return !iteration && body < p->size ? n->bodies[body] : NULL;
}

bool graph_has_type(const struct graph *g, CUgraphNodeType type)
{
	for (int i = 0; i < g->node_count; i++)
		if (g->nodes[i]->params.type == type)
			return true;
	return false;
}

/* Returns whether the body of a conditional node has only the kinds of nodes that one may have. */
static bool body_is_allowed(const struct graph *g)
{
	bool good = true;
	for (int i = 0; i < g->node_count && good; i++) {
		const struct graph_node *n = g->nodes[i];
		switch (n->params.type) {
		case CU_GRAPH_NODE_TYPE_KERNEL:
		case CU_GRAPH_NODE_TYPE_MEMCPY:
		case CU_GRAPH_NODE_TYPE_MEMSET:
		case CU_GRAPH_NODE_TYPE_EMPTY:
			break;
		case CU_GRAPH_NODE_TYPE_GRAPH:
			good = body_is_allowed(n->child);
			break;
		case CU_GRAPH_NODE_TYPE_CONDITIONAL:
			for (int k = 0; k < n->body_count && good; k++)
				good = body_is_allowed(n->bodies[k]);
			break;
		default:
			good = false;
		}
	}
	return good;
}

CUresult conditions_check(const struct graph *g)
{
	for (int i = 0; i < g->node_count; i++)
		for (int k = 0; k < g->nodes[i]->body_count; k++)
			if (!body_is_allowed(g->nodes[i]->bodies[k]))
				return CUDA_ERROR_NOT_SUPPORTED;
	return CUDA_SUCCESS;
}
