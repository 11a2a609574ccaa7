/*
 * The graph of a function's blocks, and its dominators and natural loops. Internal to core/flow.
 * A block is a run of instructions that is entered only at its first one. Blocks are numbered from
 * 0 in ascending order of their places; block 0 is the function's entry.
 */
#ifndef CORE_FLOW_GRAPH_H
#define CORE_FLOW_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_NONE UINT32_MAX

/* The edges of all blocks: those of block b are to[first[b]] to to[first[b + 1] - 1]. */
struct edges {
	uint32_t *first, *to;
};

struct graph {
	uint32_t n;	       /* number of blocks, at least 1 */
	struct edges next;     /* the blocks that may follow a block */
	struct edges previous; /* the blocks that a block may follow; only those that are reached */
	uint32_t *order;       /* the blocks that are reached from the entry, in preorder */
	uint32_t n_order;
	uint32_t *number;    /* of a block: its index in `order`; GRAPH_NONE: never reached */
	uint32_t *dominator; /* of a block: its immediate dominator; GRAPH_NONE: none */
	/* of a block: the innermost loop around it; GRAPH_NONE: none */
	uint32_t *loop_of;
	/* of a loop: its first block, and the loop around it; GRAPH_NONE: none */
	uint32_t *header, *around;
	uint32_t n_loops;
};

/*
 * Fills in everything after `next`. The loops with the same header count as one. Loops are numbered
 * so that an inner one comes before the outer ones. A cycle that can be entered at several blocks
 * is no loop. Takes O(m log m) for m edges.
 */
void graph_find_loops(struct graph *g);

/*
 * Joins loops whose test the compiler has copied: the copy then leads to the test at the begin. If
 * there are any, finds the loops anew, and returns true. `has_handler`: of a block, whether its
 * last edge in `next` leads to a handler of exceptions.
 */
bool graph_join_copied_tests(struct graph *g, const bool *has_handler);

/* Frees all members but `next`. */
void graph_forget_loops(struct graph *g);

/* Frees all members. */
void graph_free(struct graph *g);

#endif
