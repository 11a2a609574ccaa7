/*
 * Maps each call of autograd's threads to the forward line and module that made it necessary. Nodes
 * are recognized by stacks, and matched to forward operators by kind and order (autograd_match.h).
 * Ambiguous ones stay unknown.
 */
#ifndef CORE_AUTOGRAD_MAP_H
#define CORE_AUTOGRAD_MAP_H

#include "core/analysis/phases.h"
#include "core/analysis/spans.h"
#include "core/model/model.h"
#include "core/util/map.h"
#include "core/util/strtab.h"

/* A line and a module, numbered by the caller; 0: not known. */
struct autograd_map_place {
	uint32_t site, module;
};

/* One run of an operator in a forward pass. */
struct autograd_map_op {
	uint64_t begin_ns, end_ns;
	struct autograd_map_place place;
	uint32_t kind; /* in `kinds` */
	uint32_t stack;
	uint32_t level; /* nodes around it: it is part of their recomputation */
	uint32_t step;	/* counter of the steps seen */
	bool is_taken;	/* its node has been found */
};

/* A node of a backward pass. `level` is its depth in nested nodes, from 1. */
struct autograd_map_node {
	struct autograd_map_place place;
	uint32_t kind; /* 0: not known */
	uint32_t level, thread;
	uint32_t op; /* AUTOGRAD_MAP_NO_OP: not certain */
	/* Not a node, but the engine's work after one: it reduces the gradient of a broadcast input
	 * to the input's shape. */
	bool is_reduction;
};

#define AUTOGRAD_MAP_NO_OP UINT32_MAX

enum { AUTOGRAD_MAP_LEVELS = 4 };

/* The role of a call in the backward pass, derived from its stack. */
enum autograd_map_call {
	AUTOGRAD_MAP_OTHER,
	AUTOGRAD_MAP_OF_NODE,
	AUTOGRAD_MAP_ACCUMULATING, /* accumulates gradients, after the previous node */
	AUTOGRAD_MAP_REDUCING,	   /* reduces a gradient to the shape of its broadcast input */
};

/* The begin of an operator, of a node, or of a call of backward(). */
struct autograd_map_item {
	uint64_t begin_ns;
	uint32_t index; /* in `fresh` or `nodes` */
	uint8_t what;	/* enum in autograd_map.c */
};

struct autograd_map_pass {
	VEC(uint32_t) nodes; /* indexes in the map's `nodes` */
	size_t from;	     /* first op after the previous pass of this level */
};

/* All zeros is a valid start; one map serves all steps of a process. */
struct autograd_map {
	struct strtab kinds;
	struct map kind_of; /* operator's text, as a pointer -> index in `names` */
	VEC(struct autograd_map_name {
		uint32_t kind;
		uint8_t role;
	})
	names;
	struct map call_of; /* DICT_STACK -> enum autograd_map_call */
	uint32_t step;
	/* the step being added, thread by thread */
	VEC(struct autograd_map_op) fresh;
	VEC(struct autograd_map_item) items;
	VEC(struct autograd_map_node) nodes;
	VEC(uint32_t) node_of_call; /* index + 1 in `nodes`, by the model's number of the call */
	VEC(uint32_t) open;	    /* spans that enclose the current one */
	/* this step and the previous one */
	VEC(struct autograd_map_op) ops;
	struct autograd_map_pass passes[AUTOGRAD_MAP_LEVELS]; /* by level - 1 */
	/* the pass being solved */
	VEC(uint32_t) match_ops, op_kinds, node_kinds, latest, earliest, match_nodes;
	VEC(uint8_t) is_wanted; /* by kind: it takes part in the matching */
	struct map first_seen;	/* DICT_STACK -> index in `ops` */
};

void autograd_map_begin(struct autograd_map *t, const struct model_step *m);
/* Adds a thread of the step. `spans`: of m->threads.at[thread]; `places`: of the step's calls. */
void autograd_map_add_thread(struct autograd_map *t, const struct model_step *m, size_t thread,
			     const struct span_list *spans, const struct phases *phases,
			     const struct autograd_map_place *places, struct frames *frames);
/* Solves the step's passes. By the model's number of the call: `tied` gets the places of calls of
 * the backward pass, `is_backward` marks them. Both must be zero. */
void autograd_map_end(struct autograd_map *t, const struct model_step *m, struct frames *frames,
		      struct autograd_map_place *tied, bool *is_backward);
void autograd_map_free(struct autograd_map *t);

/* autograd_solve.c */

/* Ends a pass: fills its nodes' places. */
void autograd_solve(struct autograd_map *t, uint32_t level);

#endif
