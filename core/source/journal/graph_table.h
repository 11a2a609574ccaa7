/*
 * The CUDA graphs of a process: which call made each node, and which executable graph was made of
 * which graph. Finds the captured call of a replayed kernel, copy or memset.
 *
 * CUPTI gives a replayed piece of work the id of its node: the number of the executable graph (or
 * of a graph nested in it) in the upper half, and the node's number within its graph in the lower
 * half. Drivers from 13.1 on say each node's number (NODE_ID_IS_EXACT). For older ones this file
 * assumes that numbers follow the order in which the nodes were made, from 0 or from 1, and that
 * the number of a destroyed node is not used again. The work of each graph must confirm that: every
 * kernel's name, grid and block, every copy's and memset's bytes, the order in time of the nodes
 * that one stream captured, and that destroyed nodes have no work. If they disagree, the graph's
 * work gets no calls.
 *
 * Handles are used again once a graph is destroyed. So all lookups are by handle and time. The
 * memory of a graph is freed when no executable graph of it is left. One thread.
 */
#ifndef CORE_GRAPH_TABLE_H
#define CORE_GRAPH_TABLE_H

#include "core/model/completeness.h"
#include "core/source/journal/dict.h"

struct graph_nodes;

/* The call that made a node. */
struct graph_node {
	struct rec_node call;
	/* NODE_CHILD: the first n_child nodes of `child` are those of the other graph. SIZE_MAX:
	 * all that it has when it is instantiated. NULL: that graph is unknown. */
	struct graph_nodes *child;
	size_t n_child;
	uint64_t gone_ticks; /* when the node was destroyed; 0: it was not */
	bool is_changed;     /* the node got new parameters */
};

/* The nodes of a graph, by time. Executable graphs keep it when the graph is destroyed. */
struct graph_nodes {
	struct graph_nodes *next, **link; /* of all lists of the table */
	uint32_t n_users;
	uint32_t n_gone; /* how many of them were destroyed */
	VEC(struct graph_node) list;
};

/* A node's number, the view of the graph that contains it, and its index in that graph's list. */
struct graph_slot {
	uint32_t local, index, view;
	uint32_t child; /* the view of the graph that is nested in the node; 0: none */
};

/* A graph, or a graph nested in it, as it was instantiated. */
struct graph_view {
	/* The nodes of nested graphs are in it, too, numbered after the graph's own (seen with
	 * driver 13.0): first those of the first nested graph and of the graphs within it. */
	bool is_whole;
	struct graph_nodes *nodes;
	VEC(struct graph_slot) slots; /* sorted by `local` */
	VEC(uint32_t) gone;	      /* numbers of the nodes that were destroyed before */
	uint32_t last;		      /* the highest number */
	bool is_exact;		      /* all numbers are the driver's */
};

/* A way to read the node numbers of a group: the view's numbers plus `offset`. */
struct graph_reading {
	uint32_t view, offset;
};

/* The work of an executable graph whose node ids have the same upper half. */
struct graph_group {
	uint32_t upper;
	VEC(struct graph_reading) left; /* the readings that no work disagrees with */
};

/* An executable graph. Each update makes a new one, with the same handle. */
struct graph_exec {
	uint64_t handle;
	uint64_t from_ticks, until_ticks;
	uint32_t id;		   /* CUPTI's number; 0: unknown */
	struct graph_exec *older;  /* the one before of the same handle */
	uint32_t chain;		   /* the same for all updates of an executable graph, from 1 */
	bool is_launched;	   /* graph_table_launch() was called for it */
	struct graph_nodes *nodes; /* NULL: the graph is unknown */
	size_t n;
	/* whose numbers the node ids have: those of the graph that was instantiated */
	struct graph_nodes *numbers;
	size_t n_numbers;
	uint64_t numbered_ticks; /* when it was instantiated */
	VEC(struct graph_view)
	views;		/* made when first needed; the first one is the graph itself */
	size_t n_slots; /* of all views of one graph */
	VEC(struct graph_group) groups;
	struct map changed; /* handles of the nodes that got new parameters */
};

struct graph_table {
	/* Records that are not applied yet: those of all steps that were read ahead. */
	QUEUE(struct rec_node) nodes;
	QUEUE(struct rec_graph) events;
	bool nodes_are_mixed, events_are_mixed; /* not in order of time */
	/* Graphs may contain each other's nodes, so not every list is freed before the table. */
	struct graph_nodes *lists;
	struct map graphs;	       /* handle -> struct graph_nodes * */
	struct map execs;	       /* handle -> newest struct graph_exec * */
	struct map node_graphs;	       /* handle of a node -> handle of its graph */
	struct map chain_of_id;	       /* CUPTI's number of an executable graph -> chain */
	struct map exec_of_chain;      /* -> newest struct graph_exec * */
	VEC(struct graph_exec *) over; /* destroyed or updated, in order of time */
	uint32_t n_chains;
	/* bits of the offsets that the work of whole graphs has confirmed; 0: none yet */
	uint32_t offsets;
	uint64_t n_nodes; /* held in memory, for tests */
};

/* Take records in any order. */
void graph_table_node(struct graph_table *t, const struct rec_node *n);
void graph_table_event(struct graph_table *t, const struct rec_graph *e);

/* Applies the records up to `ticks`. All records before that time must have been taken. */
void graph_table_settle(struct graph_table *t, uint64_t ticks);

/* Frees what no launch from `ticks` on can need. */
void graph_table_forget(struct graph_table *t, uint64_t ticks);

void graph_table_free(struct graph_table *t);

/*
 * Notes a launch of an executable graph. Returns whether it is the first one. `unseen_ticks`: at
 * this time the library stopped recording launches; 0: it did not.
 */
bool graph_table_launch(struct graph_table *t, uint64_t exec, uint64_t ticks,
			uint64_t unseen_ticks);

/* A piece of work of a graph. */
struct graph_work {
	const struct rec_gpu *gpu;
	/* when it was launched, and the exec handle; 0: unknown */
	uint64_t launch_ticks, exec;
	/* the result; NULL: unknown because of `lack` */
	const struct graph_node *node;
	enum graph_lack lack;
	const struct graph_view *view; /* the graph that contains the node */
};

/* Finds the nodes of the work of a step. The nodes are valid until graph_table_settle(). */
void graph_table_resolve(struct graph_table *t, const struct dict *d, struct graph_work *works,
			 size_t n);

/* ---- Shared by graph_table.c and graph_match.c only ---- */

/* Returns the executable graph with this handle at this time; NULL: unknown. */
struct graph_exec *graph_table_exec(const struct graph_table *t, uint64_t handle, uint64_t ticks);

/* Makes the exec's views, unless it has them. */
void graph_exec_view(struct graph_exec *e);

#endif
