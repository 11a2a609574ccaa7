/*
 * The ids by which CUPTI's records and the driver's queries name graphs and nodes; README.md says
 * what is known about the real ones. Runs on the application's threads; engine_lock guards
 * everything.
 */
#include "test/sim/engine_graph.h"

/* cuda.h of CUDA 13.0 lacks the functions that the driver has from this version on. */
#define FIRST_VERSION 13010

static uint32_t last_id;

uint32_t graph_id_next(void)
{
	return ++last_id;
}

static bool ids_are(const char *word)
{
	return strstr(engine_settings.graph_ids, word) != NULL;
}

uint32_t node_local_id(uint32_t number)
{
	uint32_t id = number - 1;
	if (ids_are("gaps"))
		id += id / 3 * 2;
	if (ids_are("shuffled"))
		id ^= 3;
	return ids_are("from-1") ? id + 1 : id;
}

uint64_t node_tools_id(const struct graph_node *n)
{
	return n->tools_id ?: (uint64_t)n->graph->id << 32 | n->local_id;
}

static uint32_t largest_local_id(const struct graph *g)
{
	uint32_t largest = 0;
	for (int i = 0; i < g->node_count; i++)
		if (g->nodes[i]->local_id > largest)
			largest = g->nodes[i]->local_id;
	return largest;
}

static void bodies_number(struct graph *g, uint32_t id, uint32_t *last);

static void nested_number(struct graph *g, uint32_t id, uint32_t *last)
{
	for (int i = 0; i < g->node_count; i++)
		g->nodes[i]->tools_id = (uint64_t)id << 32 | ++*last;
	bodies_number(g, id, last);
}

/* Numbers the nodes of all graphs below `g` as if they were nodes of graph `id`. */
static void bodies_number(struct graph *g, uint32_t id, uint32_t *last)
{
	for (int i = 0; i < g->node_count; i++) {
		struct graph_node *n = g->nodes[i];
		if (n->child)
			nested_number(n->child, id, last);
		for (int k = 0; k < n->body_count; k++)
			nested_number(n->bodies[k], id, last);
	}
}

void exec_ids_set(struct graph_exec *e)
{
	uint32_t last = largest_local_id(e->graph);
	e->id = e->graph->id;
	if (engine_driver_version() < FIRST_VERSION && !ids_are("bodies-apart"))
		bodies_number(e->graph, e->id, &last);
}

/* ---- queries of drivers from 13.1 on ---- */

static CUresult get_graph_id(CUgraph graph, unsigned *id)
{
	struct graph *g = graph_checked(graph);
	if (!g || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = g->id;
	return CUDA_SUCCESS;
}

static CUresult get_exec_id(CUgraphExec exec, unsigned *id)
{
	struct graph_exec *e = exec_checked(exec);
	if (!e || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = e->id;
	return CUDA_SUCCESS;
}

static CUresult get_local_id(CUgraphNode node, unsigned *id)
{
	struct graph_node *n = node_checked(node);
	if (!n || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = n->local_id;
	return CUDA_SUCCESS;
}

static CUresult get_tools_id(CUgraphNode node, unsigned long long *id)
{
	struct graph_node *n = node_checked(node);
	if (!n || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = node_tools_id(n);
	return CUDA_SUCCESS;
}

static CUresult get_containing_graph(CUgraphNode node, CUgraph *graph)
{
	struct graph_node *n = node_checked(node);
	if (!n || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = (CUgraph)n->graph;
	return CUDA_SUCCESS;
}

void *graph_ids_function(const char *symbol, int *first_version)
{
	static const struct {
		const char *symbol;
		void *function;
	} rows[] = {
		{ "cuGraphGetId", (void *)get_graph_id },
		{ "cuGraphExecGetId", (void *)get_exec_id },
		{ "cuGraphNodeGetLocalId", (void *)get_local_id },
		{ "cuGraphNodeGetToolsId", (void *)get_tools_id },
		{ "cuGraphNodeGetContainingGraph", (void *)get_containing_graph },
	};
	*first_version = FIRST_VERSION;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (engine_driver_version() >= FIRST_VERSION && !strcmp(symbol, rows[i].symbol))
			return rows[i].function;
	return NULL;
}

/* ---- CUPTI's queries (struct sim_tools) ---- */

int tool_graph_id(void *graph, uint32_t *id)
{
	return get_graph_id(graph, id);
}

int tool_exec_id(void *exec, uint32_t *id)
{
	return get_exec_id(exec, id);
}

int tool_node_id(void *node, uint64_t *id)
{
	unsigned long long tools_id = 0;
	CUresult rc = get_tools_id(node, &tools_id);
	*id = tools_id;
	return rc;
}
