/*
 * Graphs, their nodes and their executable copies; see engine_graph.c. engine_lock guards all of
 * them.
 */
#ifndef TEST_SIM_ENGINE_GRAPH_H
#define TEST_SIM_ENGINE_GRAPH_H

#include "test/sim/engine.h"

#define GRAPH_MAGIC 0x47524631u
#define NODE_MAGIC  0x474e4431u
#define EXEC_MAGIC  0x47455831u

struct graph_node {
	uint32_t magic;
	/* numbered within its graph by order of creation, from 1; clones keep it */
	uint32_t number;
	uint32_t local_id; /* what tools get; clones keep it */
	uint64_t tools_id; /* 0: made from the graph's id and local_id */
	struct graph *graph;
	CUgraphNodeParams params;
	struct launch launch;  /* the launch, if this is a kernel node */
	struct move move;      /* the copy or memset, if this is a memcpy or memset node */
	struct graph *child;   /* the graph of a child graph node, which owns it */
	struct graph **bodies; /* the graphs of a conditional node, which owns them */
	int body_count;
	struct graph_node **dependencies;
	int dependency_count;
	bool disabled;		     /* set in executable graphs only */
	struct graph_node *original; /* the node from which this one was cloned */
	struct when end;	     /* when the node ends; valid during a launch */
	int mark;
};

struct graph {
	uint32_t magic;
	uint32_t id, last_node;
	struct graph_node **nodes;
	int node_count;
	struct graph *original;
	bool owned; /* a child graph node or a conditional node owns it */
};

struct graph_exec {
	uint32_t magic;
	uint32_t id;
	struct graph *graph;
	uint64_t flags;
	/* end of its last launch; launches of one executable graph run one after another */
	struct when last;
	uint32_t finalized; /* how often CUPTI had been finalized when the graph was instantiated */
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
/* Adds a node. Returns NULL if a dependency is not a node of this graph. */
struct graph_node *node_add(struct graph *graph, CUgraphNodeType type,
			    struct graph_node *const *dependencies, size_t count);
CUresult node_depend(struct graph_node *node, struct graph_node *on);
CUresult node_params_set(struct graph_node *node, const CUgraphNodeParams *params);
void node_remove(struct graph_node *node);
/* Sorts the nodes by dependency. Returns false if the graph has a cycle. */
bool graph_sort(struct graph *graph);
bool graph_has_type(const struct graph *graph, CUgraphNodeType type);

/* ---- conditional nodes (engine_graph_condition.c) ---- */

/* Creates the bodies of a new conditional node. */
CUresult condition_set(struct graph_node *node);
void condition_clone(struct graph_node *to, const struct graph_node *from);
/* Returns the graph that the node runs in its iteration `iteration`, from 0; NULL: it has ended. */
struct graph *condition_body(const struct graph_node *node, int iteration);
/* Returns the error of an instantiation if a body has nodes that it may not have. */
CUresult conditions_check(const struct graph *graph);

struct graph_node *exec_node(struct graph_exec *exec, CUgraphNode original);

/* ---- ids (engine_graph_ids.c) ---- */

/* Returns the id of a new graph, executable or not. No id is used twice. */
uint32_t graph_id_next(void);
/* Returns the local id of the node that is created as number `number` (from 1) of its graph. */
uint32_t node_local_id(uint32_t number);
/* Returns the id that CUPTI's records have. */
uint64_t node_tools_id(const struct graph_node *n);
/* Gives a new executable graph its id, and its nodes theirs. */
void exec_ids_set(struct graph_exec *exec);
/*
 * Returns a function that cuda.h does not declare, or NULL if the simulated driver has none of that
 * name. `first_version`: the CUDA version from which on a caller may request it.
 */
void *graph_ids_function(const char *symbol, int *first_version);

#endif
