/*
 * Maps each call of the backward pass to the forward line and module that caused it. Autograd nodes
 * are found in the stacks, and are matched to forward operators by kind and order
 * (autograd_match.h). If the match of a node is ambiguous, its line stays unknown.
 */
#ifndef CORE_AUTOGRAD_MAP_H
#define CORE_AUTOGRAD_MAP_H

#include "core/analysis/phases.h"
#include "core/analysis/spans.h"
#include "core/model/model.h"
#include "core/util/map.h"
#include "core/util/strtab.h"

/* A source line and a module. The caller defines the numbers; 0: not known. */
struct autograd_map_place {
	uint32_t site, module;
};

/* One run of an operator in a forward pass. */
struct autograd_map_op {
	uint64_t begin_ns, end_ns;
	struct autograd_map_place place;
	uint32_t kind; /* index in `kinds` */
	uint32_t stack;
	uint32_t level; /* number of nodes around the operator, which recompute it */
	uint32_t step;	/* value of the map's `step` when the operator ran */
	bool is_taken;	/* a node was matched to this operator */
};

/* A node of a backward pass. `level` is its depth among nested nodes, from 1. */
struct autograd_map_node {
	struct autograd_map_place place;
	uint32_t kind; /* index in `kinds`; 0: not known */
	uint32_t level, thread;
	uint32_t op; /* index in `ops`; AUTOGRAD_MAP_NO_OP: not certain */
	/* This is not a node, but the engine's own work after a node: if an input of the forward
	 * operator was broadcast, the engine reduces that input's gradient to the input's shape. */
	bool is_reduction;
};

#define AUTOGRAD_MAP_NO_OP UINT32_MAX

enum { AUTOGRAD_MAP_LEVELS = 4 };

/* The role of a call in the backward pass, derived from its stack. */
enum autograd_map_call {
	AUTOGRAD_MAP_OTHER,
	AUTOGRAD_MAP_OF_NODE,
	AUTOGRAD_MAP_ACCUMULATING, /* adds gradients; belongs to the previous node */
	AUTOGRAD_MAP_REDUCING,	   /* reduces the gradient of a broadcast input */
};

/* An event of the step: an operator begins, a node begins, or a thread makes a call within
 * backward(). */
struct autograd_map_item {
	uint64_t begin_ns;
	uint32_t index; /* in `fresh` or `nodes`, by `what` */
	uint8_t what;	/* ITEM_OP, ITEM_NODE or ITEM_CALL, see autograd_map.c */
};

struct autograd_map_pass {
	VEC(uint32_t) nodes; /* indexes in `nodes` of the map */
	size_t from;	     /* index in `ops`: first operator after this level's previous pass */
};

/* All zeros is a valid start. One map serves all steps of a process. */
struct autograd_map {
	struct strtab kinds;
	struct map kind_of; /* address of an operator's name -> index in `names` */
	VEC(struct autograd_map_name {
		uint32_t kind;
		uint8_t role;
	})
	names;
	struct map call_of; /* DICT_STACK -> enum autograd_map_call */
	uint32_t step;
	/* the current step; its threads are added one by one */
	VEC(struct autograd_map_op) fresh;
	VEC(struct autograd_map_item) items;
	VEC(struct autograd_map_node) nodes;
	VEC(uint32_t) node_of_call; /* by call of the model: index + 1 in `nodes`; 0: none */
	VEC(uint32_t) open;	    /* indexes of the spans that enclose the current one */
	/* operators of the current and the previous step */
	VEC(struct autograd_map_op) ops;
	struct autograd_map_pass passes[AUTOGRAD_MAP_LEVELS]; /* by level - 1 */
	/* buffers for the pass that autograd_solve() works on */
	VEC(uint32_t) match_ops, op_kinds, node_kinds, latest, earliest, match_nodes;
	VEC(uint8_t) is_wanted; /* by kind: operators or nodes of this kind are matched */
	/* DICT_STACK -> index in `ops` of the first operator with this stack. */
	struct map first_seen;
};

/* Forgets the operators of all steps so far. */
void autograd_map_forget(struct autograd_map *t);
/* Begins a step. Forgets the operators of steps before the previous one. */
void autograd_map_begin(struct autograd_map *t, const struct model_step *m);
/* Adds a thread of the step. `spans`: the spans of m->threads.at[thread]. `places`: by call of the
 * model. */
void autograd_map_add_thread(struct autograd_map *t, const struct model_step *m, size_t thread,
			     const struct span_list *spans, const struct phases *phases,
			     const struct autograd_map_place *places, struct frames *frames);
/*
 * Matches the nodes of the step's passes to operators. Sets is_backward[i] for each call i of the
 * backward pass, and tied[i] to the place of the forward operator that caused it, if that is known.
 * Both arrays are indexed by call of the model and must be zero before.
 */
void autograd_map_end(struct autograd_map *t, const struct model_step *m, struct frames *frames,
		      struct autograd_map_place *tied, bool *is_backward);
void autograd_map_free(struct autograd_map *t);

/* ---- autograd_solve.c ---- */

/* Ends the pass of this level: matches its nodes to operators, fills their places, and empties the
 * pass. */
void autograd_solve(struct autograd_map *t, uint32_t level);

#endif
