/* See loop_graphs.h. */
#include "core/steps/loop_graphs.h"

#include "core/runtime/token.h"

void loop_graphs_free(struct loop_graphs *g)
{
	vec_free(&g->list);
	map_free(&g->of_graph);
	map_free(&g->of_exec);
	map_free(&g->tokens);
}

static uint64_t add_graph(struct loop_graphs *g, uint64_t handle, struct loop_graph graph)
{
	uint64_t index = g->list.n;
	vec_push(&g->list, graph);
	*map_at(&g->of_graph, handle, NULL) = index;
	return index;
}

static uint64_t index_of(struct loop_graphs *g, uint64_t handle)
{
	const uint64_t *at = map_find(&g->of_graph, handle);
	return at ? *at : add_graph(g, handle, (struct loop_graph){ 0 });
}

struct loop_graph *loop_graphs_at(struct loop_graphs *g, uint64_t handle)
{
	uint64_t index = index_of(g, handle);
	return &g->list.at[index];
}

/* The handle may have been that of a graph that is gone. */
static void make(struct loop_graphs *g, const struct rec_graph *r)
{
	struct loop_graph *before = loop_graphs_at(g, r->graph);
	if (!before->is_made && (!before->n || before->begin_ticks >= r->ticks))
		before->is_made = true;
	else
		add_graph(g, r->graph, (struct loop_graph){ .is_made = true });
}

void loop_graphs_change(struct loop_graphs *g, const struct rec_graph *r)
{
	switch (r->event) {
	case GRAPH_MADE:
		make(g, r);
		break;
	case GRAPH_CLONED: {
		struct loop_graph copy = *loop_graphs_at(g, r->of);
		copy.is_made = true;
		add_graph(g, r->graph, copy);
		break;
	}
	case GRAPH_INSTANTIATED:
	case GRAPH_UPDATED: {
		uint64_t index = index_of(g, r->graph);
		*map_at(&g->of_exec, r->of, NULL) = index;
		break;
	}
	default:
		break;
	}
}

const struct loop_graph *loop_graphs_exec(const struct loop_graphs *g, uint64_t exec)
{
	const uint64_t *at = map_find(&g->of_exec, exec);
	return at ? &g->list.at[*at] : NULL;
}

static void add_child(struct loop_graph *to, const struct loop_graph *child)
{
	to->n += child->n;
	to->steps += child->steps;
	to->others += child->others;
	to->transfers += child->transfers;
	to->more_ticks += loop_graph_ticks(child);
}

/* The body of a conditional node gets its nodes later, and may not run, so it does not count. */
static void add_nested(struct loop_graphs *g, const struct rec_node *n)
{
	struct loop_graph child = { 0 };
	if (!(n->flags & NODE_IS_BODY))
		child = *loop_graphs_at(g, n->arg);
	add_child(loop_graphs_at(g, n->graph), &child);
}

static uint64_t token_of_node(const struct rec_node *n)
{
	switch (n->type) {
	case NODE_KERNEL:
		return n->arg;
	case NODE_MEMCPY:
		return token_copy(n->copy);
	default:
		return 0;
	}
}

void loop_graphs_add(struct loop_graphs *g, const struct rec_node *n, bool is_step,
		     bool in_optimizer)
{
	struct loop_graph *graph = loop_graphs_at(g, n->graph);
	uint64_t end_ticks = n->begin_ticks + n->ticks, token = token_of_node(n);
	if (!graph->n || n->begin_ticks < graph->begin_ticks)
		graph->begin_ticks = n->begin_ticks;
	if (end_ticks > graph->end_ticks)
		graph->end_ticks = end_ticks;
	graph->n++;
	graph->steps += is_step;
	graph->others += n->type == NODE_KERNEL && !in_optimizer;
	graph->transfers += n->type == NODE_MEMCPY && (n->copy == COPY_H2D || n->copy == COPY_D2H);
	if (token)
		map_at(&g->tokens, token, NULL);
	if (n->type == NODE_CHILD)
		add_nested(g, n);
}
