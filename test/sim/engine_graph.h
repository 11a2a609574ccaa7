/*
 * Graphs, their nodes and their executable copies; see engine_graph.c. Everything under
 * engine_lock.
 */
#ifndef TEST_SIM_ENGINE_GRAPH_H
#define TEST_SIM_ENGINE_GRAPH_H

#include "test/sim/engine.h"

#define GRAPH_MAGIC 0x47524631u
#define NODE_MAGIC  0x474e4431u
#define EXEC_MAGIC  0x47455831u

struct graph_node {
	uint32_t magic;
	uint32_t id; /* within its graph, from 1; kept by clones */
	struct graph *graph;
	CUgraphNodeParams params;
	struct launch launch; /* of a kernel node */
	struct move move;     /* of a memcpy or memset node */
	struct graph *child;  /* of a child graph node; owned */
	struct graph_node **dependencies;
	int dependency_count;
	bool disabled;		     /* in an executable graph */
	struct graph_node *original; /* that this one is a clone of */
	struct when end;	     /* during a launch */
	int mark;
};

struct graph {
	uint32_t magic;
	uint32_t id, last_node;
	struct graph_node **nodes;
	int node_count;
	struct graph *original;
	bool owned; /* by a child graph node */
};

struct graph_exec {
	uint32_t magic;
	uint32_t id;
	struct graph *graph;
	uint64_t flags;
	struct when last;   /* launches of one executable graph follow one another */
	uint32_t finalized; /* how often CUPTI had gone when it was made */
};

struct capture {
	uint64_t id;
	struct graph *graph;
	struct stream *origin;
	CUstreamCaptureMode mode;
	struct cu_thread *thread;
	bool invalid, own_graph;
	struct capture *next;
};

struct graph *graph_checked(CUgraph handle);
struct graph_node *node_checked(CUgraphNode handle);
struct graph_exec *exec_checked(CUgraphExec handle);
struct graph *graph_create(void);
struct graph *graph_clone(struct graph *graph);
void graph_destroy(struct graph *graph);
/* NULL: a dependency is no node of this graph. */
struct graph_node *node_add(struct graph *graph, CUgraphNodeType type,
			    struct graph_node *const *dependencies, size_t count);
CUresult node_depend(struct graph_node *node, struct graph_node *on);
CUresult node_params_set(struct graph_node *node, const CUgraphNodeParams *params);
void node_remove(struct graph_node *node);
bool graph_sort(struct graph *graph); /* false: it has a cycle */
struct graph_node *exec_node(struct graph_exec *exec, CUgraphNode original);

#endif
