/*
 * CUDA graphs in the loop tree. A launch of an executable graph stands for the calls that made the
 * graph's nodes: it counts their optimizer steps, kernels and time. The calls themselves make no
 * GPU work, so they are no iterations of the loops around them.
 */
#ifndef CORE_LOOP_GRAPHS_H
#define CORE_LOOP_GRAPHS_H

#include "core/runtime/record.h"
#include "core/util/map.h"
#include "core/util/vec.h"

#include <stdbool.h>

/* What one launch of a graph stands for. */
struct loop_graph {
	uint32_t n;			   /* calls, each of which made a node */
	uint32_t steps, others, transfers; /* see struct loop_counts */
	uint64_t begin_ticks, end_ticks;   /* from the first of the calls to the last one */
	uint64_t more_ticks;		   /* of the graphs that it contains */
	bool is_made;			   /* its GRAPH_MADE or GRAPH_CLONED has been taken */
};

/* All zeros has no graphs. */
struct loop_graphs {
	VEC(struct loop_graph) list;
	/* handle of a graph, or of an executable graph -> index in `list` of the newest one */
	struct map of_graph, of_exec;
	struct map tokens; /* of captured launches and copies: core/runtime/token.h */
};

void loop_graphs_free(struct loop_graphs *g);

/*
 * Takes the next change of a graph. Records of one thread must come in order. A node of another
 * thread may come before the record that its graph was made.
 */
void loop_graphs_change(struct loop_graphs *g, const struct rec_graph *r);

/* Returns the graph with this handle, which is made if it is unknown. Valid until the next call. */
struct loop_graph *loop_graphs_at(struct loop_graphs *g, uint64_t handle);

/* Adds a call to the graph of its node. `is_step`: the call began an optimizer's step. */
void loop_graphs_add(struct loop_graphs *g, const struct rec_node *n, bool is_step,
		     bool in_optimizer);

/* Returns what a launch of the executable graph stands for; NULL: unknown. */
const struct loop_graph *loop_graphs_exec(const struct loop_graphs *g, uint64_t exec);

static inline uint64_t loop_graph_ticks(const struct loop_graph *g)
{
	return g->end_ticks - g->begin_ticks + g->more_ticks;
}

#endif
