/*
 * Whose backward pass it is: for each call of autograd's threads the forward line and module that made it necessary. Nodes are told by
 * the stacks, what made them by their kinds and their order (autograd_match.h). What is ambiguous stays unknown.
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

/* A run of an operator in a forward pass. */
struct autograd_map_op {
	uint64_t begin_ns, end_ns;
	struct autograd_map_place place;
	uint32_t kind; /* in `kinds` */
	uint32_t stack;
	uint32_t level; /* nodes that it runs within: what they compute again */
	uint32_t step;	/* in which it was seen: a counter */
	bool is_taken;	/* its node is known */
};

/* A node of a backward pass that runs within `level - 1` other ones. */
struct autograd_map_node {
	struct autograd_map_place place;
	uint32_t kind; /* 0: not known */
	uint32_t level, thread;
	uint32_t op; /* AUTOGRAD_MAP_NO_OP: not one for certain */
	bool is_reduction; /* no node, but what the engine does behind one whose inputs were spread to one shape */
};

#define AUTOGRAD_MAP_NO_OP UINT32_MAX

enum { AUTOGRAD_MAP_LEVELS = 4 };

/* What a stack says of its call. */
enum autograd_map_call {
	AUTOGRAD_MAP_OTHER,
	AUTOGRAD_MAP_OF_NODE,
	AUTOGRAD_MAP_ACCUMULATING, /* gradients, behind the node before */
	AUTOGRAD_MAP_REDUCING,	   /* a gradient to the shape of what had been spread */
};

/* What began in a step: an operator's run, a node, a call of backward(). */
struct autograd_map_item {
	uint64_t begin_ns;
	uint32_t index; /* in `fresh` or `nodes` */
	uint8_t what;	/* enum in autograd map.c */
};

struct autograd_map_pass {
	VEC(uint32_t) nodes; /* indexes in the autograd map's */
	size_t from;	     /* ops since the last one of its level */
};

/* All zero is a good start; one is used for step after step of a process. */
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
	/* of the step that is added, thread by thread */
	VEC(struct autograd_map_op) fresh;
	VEC(struct autograd_map_item) items;
	VEC(struct autograd_map_node) nodes;
	VEC(uint32_t) node_of_call; /* index + 1 in `nodes`, by the model's number of the call */
	VEC(uint32_t) open;	    /* spans around the one that is looked at */
	/* of this step and the one before */
	VEC(struct autograd_map_op) ops;
	struct autograd_map_pass passes[AUTOGRAD_MAP_LEVELS]; /* by level - 1 */
	/* of the pass that is solved */
	VEC(uint32_t) match_ops, op_kinds, node_kinds, latest, earliest, match_nodes;
	VEC(uint8_t) is_wanted; /* by kind */
	struct map first_seen;	/* DICT_STACK -> index in `ops` */
};

void autograd_map_begin(struct autograd_map *t, const struct model_step *m);
/* `spans`: of m->threads.at[thread]; `places`: where each of the step's calls was made. */
void autograd_map_add_thread(struct autograd_map *t, const struct model_step *m, size_t thread,
			     const struct span_list *spans, const struct phases *phases,
			     const struct autograd_map_place *places, struct frames *frames);
/* `tied`: by the model's number of the call, for calls of the backward pass; `is_backward` marks these. Both must be zero. */
void autograd_map_end(struct autograd_map *t, const struct model_step *m, struct frames *frames,
		      struct autograd_map_place *tied, bool *is_backward);
void autograd_map_free(struct autograd_map *t);

/* autograd_solve.c */

/* The pass is over: fills its nodes' places. */
void autograd_solve(struct autograd_map *t, uint32_t level);

#endif
