/*
 * The loops of a program, from the stacks of its calls. Between two calls of a thread, the stacks
 * say which loop began an iteration (loop_stacks_turn()). Threads that run the same code share a
 * loop. Takes the calls of one process as they are read; used by one thread.
 */
#ifndef CORE_LOOP_TREE_H
#define CORE_LOOP_TREE_H

#include "core/runtime/record.h"
#include "core/runtime/token.h"
#include "core/steps/loop_graphs.h"
#include "core/steps/loop_stacks.h"
#include "core/util/map.h"
#include "core/util/vec.h"

/*
 * Counts of calls. Of a thread: since its start. Of an iteration: in it. A launch of a CUDA graph
 * counts as itself, and as the calls that were captured into the graph, but for `launches` and
 * `waits`.
 */
struct loop_counts {
	uint32_t calls;
	uint32_t launches;  /* calls that the library pushes into its token window */
	uint32_t steps;	    /* optimizer steps that began */
	uint32_t others;    /* launches of kernels or graphs outside of optimizer steps */
	uint32_t waits;	    /* synchronizations and copies to the host */
	uint32_t transfers; /* copies to or from the host */
	uint32_t replayed;  /* those of `calls` that were captured */
	/* time that the replayed calls took when they were captured */
	uint64_t replayed_ticks;
};

struct loop_iteration {
	uint64_t begin_ticks, end_ticks;
	uint64_t launch_ticks; /* begin of its first launch or copy; 0: it has none */
	uint32_t slot;	       /* the thread */
	uint32_t launch;       /* number of launches that the thread had made before */
	struct loop_counts n;
	/* The places of its calls, as a Bloom filter: equal for iterations of one kind. */
	uint64_t places;
	/*
	 * The frames that all its calls share: those of this stack up to a level. NULL: it has no
	 * call, its calls are at several places of the loop's function, or a place is unknown.
	 */
	const struct loop_stack *shared;
	uint32_t shared_level;
	uint32_t n_sites; /* loop_stacks.n_sites at its end */
	bool went_round;  /* another iteration of the same run followed */
};

/* A loop. `iterations` are in the order of their ends. */
struct loop {
	uint32_t place; /* index in loop_stacks.places; loops have the same numbers as places */
	VEC(struct loop_iteration) iterations;
	/* iterations that loop_births_link() left out: they contain nothing */
	VEC(struct loop_iteration) empty;
	uint64_t n_runs; /* how often a thread entered the loop */
	/* see struct loop_counts */
	uint64_t n_calls, n_steps, n_others, n_waits, n_transfers, n_replayed;
	/* of all iterations, and of the longest one, with their `replayed_ticks` */
	uint64_t ticks, longest_ticks;
	/* the part of `ticks` between the last call of each run of the loop and the call after it:
	 * other code may have taken it */
	uint64_t tail_ticks;
	uint32_t n_sites_repaired;    /* loop_stacks.n_sites when loop_repair() found no fault */
	struct loop_counts of_births; /* the part of the counts that loop_births_link() added */
	bool is_full;		      /* iterations were left out: too many */
};

/* A thread that was created while the tree took calls. */
struct loop_birth {
	uint32_t creator;		/* its slot */
	uint32_t place;			/* innermost place around the creation, LOOP_NONE: none */
	uint64_t ticks;			/* of the creation */
	uint64_t last_ticks;		/* end of its last call */
	struct loop_counts before, n;	/* the counts of its slot at its begin, and its own */
	const struct loop_stack *first; /* of its first call; NULL: it has made none */
};

struct loop_open {
	uint32_t loop;
	struct loop_iteration begun; /* `n` has the thread's counts at its begin */
	bool is_next;		     /* another iteration of the same run came before */
	bool shares_nothing;	     /* `begun.shared` stays NULL */
};

/* The calls of a thread that are captured into a graph. */
struct loop_capture {
	uint64_t graph;			 /* of the last node; 0: none yet */
	const struct loop_stack *before; /* of the last node that has one */
	uint32_t step_node;		 /* see struct loop_thread */
};

struct loop_thread {
	uint32_t slot;
	const struct loop_stack *before; /* of the last call that has one */
	VEC(struct loop_open) open;	 /* outermost first */
	struct loop_counts n;
	uint64_t last_end_ticks;
	uint32_t birth;	    /* index in loop_tree.births + 1; 0: unknown */
	uint32_t step_node; /* of the optimizer's step that the last call is in; 0: none */
	VEC(struct token_hashes) hashes; /* of its launches */
	VEC(uint64_t) ticks;		 /* of its launches */
	VEC(uint64_t) tokens;		 /* of its launches */
	struct loop_capture capture;
};

struct loop_tree {
	struct loop_stacks stacks;
	VEC(struct loop) loops;
	VEC(struct loop_thread) threads;
	VEC(struct loop_birth) births;
	struct loop_graphs graphs;
	struct map thread_of_slot;
	/* Results of loop_stacks_turn() by pairs of stacks, which are few, for this n_sites. */
	struct map turn_of_pair;
	uint32_t n_sites;
	uint64_t n_iterations;
	uint64_t n_fed, n_without; /* calls taken, and those of them that had no stack */
	bool is_full;		   /* iterations were left out: too many */
};

void loop_tree_start(struct loop_tree *t, const struct dict *d);
void loop_tree_stop(struct loop_tree *t);

/*
 * Takes the next call of thread `slot`. Calls of one thread must come in order. Only launches,
 * copies and synchronizations count. `hashes`: what the call completes if the library pushes it
 * into its token window, else zeros.
 */
void loop_tree_feed(struct loop_tree *t, uint32_t slot, const struct rec_call *c,
		    struct token_hashes hashes);

/*
 * Takes the next record of thread `slot` about CUDA graphs: REC_NODE or REC_GRAPH. Same order.
 * Calls that were captured must not be passed to loop_tree_feed().
 */
void loop_tree_feed_graph(struct loop_tree *t, uint32_t slot, const struct rec_head *record);

/* Takes the next record of thread `slot` about the creation of threads. Same order. */
void loop_tree_feed_thread(struct loop_tree *t, uint32_t slot, const struct rec_thread *r);

/*
 * Returns whether the tree can be trusted. Calls without a stack may hide iterations, so at most
 * one call in a hundred may lack it.
 */
bool loop_tree_is_whole(const struct loop_tree *t);

/* Ends the iterations under way, for a tree that takes no more calls. */
void loop_tree_end(struct loop_tree *t);

/*
 * Returns whether the loop began a second iteration in any of its runs. A loop without calls, which
 * only creates threads that live on, does not count.
 */
static inline bool loop_goes_round(const struct loop *l)
{
	return l->iterations.n > l->n_runs && l->n_calls;
}

/*
 * Returns when a step that is the iteration begins: with its first launch or copy, as it does where
 * the library counts steps. What the CPU does before belongs to the step before.
 */
static inline uint64_t loop_iteration_begin(const struct loop_iteration *i)
{
	return i->launch_ticks ? i->launch_ticks : i->begin_ticks;
}

static inline bool loop_launch_is(const struct token_hashes *launch, uint64_t anchor)
{
	return launch->trigram == anchor || launch->single == anchor;
}

/* Returns the nearest loop around it that goes round; NULL: none. */
const struct loop *loop_tree_parent(const struct loop_tree *t, const struct loop *l);

#endif
