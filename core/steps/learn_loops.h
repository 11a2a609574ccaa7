/*
 * Learns the steps from the loops that the stacks of calls show (core/steps/loop_tree.h). Works in
 * the opening, where each call has a stack. One struct learn_loops per process, used by one thread.
 */
#ifndef CORE_LEARN_LOOPS_H
#define CORE_LEARN_LOOPS_H

#include "core/source/journal/ingest.h"
#include "core/steps/levels.h"
#include "core/steps/loop_choice.h"

/* What counts steps: each occurrence of the anchor, or one in `every`. */
struct anchor_counts {
	uint64_t anchor;
	uint32_t every;
};

/* What the user asked for. */
struct learn_loops_wish {
	const char *loop; /* FILE-SUFFIX:LINE; NULL: any loop */
	bool optimizer;	  /* only steps that an optimizer ends */
};

struct learn_loops {
	struct loop_tree tree;
	bool is_started;
	uint64_t next_look; /* number of calls at which the next search is due */
	/* The last search found a loop: `choice`. It is valid until the next search. */
	bool has_choice;
	struct loop_choice choice;
	/* The opening is over, and learn_adopt() has decided about this loop. */
	bool is_settled;
	/* Of the launches after the opening, until it is settled. */
	VEC(struct token_hashes) after;
};

void learn_loops_free(struct learn_loops *x);

/*
 * Takes the next call of thread `slot`. Calls after the opening are no part of the tree. `hashes`:
 * what the call completes, zeros if it is no launch or copy.
 */
void learn_loops_feed(struct learn_loops *x, const struct ingest *f, uint32_t slot,
		      const struct rec_call *c, struct token_hashes hashes);

/* Takes the next record of thread `slot` about the creation of threads. */
void learn_loops_feed_thread(struct learn_loops *x, const struct ingest *f, uint32_t slot,
			     const struct rec_thread *r);

/* Takes the next record of thread `slot` about CUDA graphs: REC_NODE or REC_GRAPH. */
void learn_loops_feed_graph(struct learn_loops *x, const struct ingest *f, uint32_t slot,
			    const struct rec_head *record);

/* How the library can count the steps of `choice`: fields of struct level_choice. */
struct learn_loops_anchor {
	uint64_t hash, backup;
	uint32_t backup_within;
	uint32_t thread;
	uint32_t every, lead;
	uint64_t count;
	int64_t n_missed;
	uint64_t distance; /* see struct loop_anchor */
};

/* Returns whether the library can count the steps of the last search. */
bool learn_loops_anchor(const struct learn_loops *x, struct learn_loops_anchor *out);

/* Returns whether the last search's loop has too few iterations yet to show an anchor. */
bool learn_loops_is_young(const struct learn_loops *x);

/*
 * Settles the search: its steps or other ones are counted, or the process has ended. Further calls
 * after the opening are ignored.
 */
void learn_loops_drop_after(struct learn_loops *x);

/* Returns whether enough calls have been fed since the last search. */
bool learn_loops_is_due(const struct learn_loops *x);

/*
 * Searches for the loop of the steps. Returns whether it is clear; `choice` may also be valid if it
 * is not. `ended`: no more calls will come, so fewer iterations suffice.
 */
bool learn_loops_search(struct learn_loops *x, const struct learn_loops_wish *wish, bool ended);

/* Returns the median number of launches and copies per step of `choice`. */
uint32_t learn_loops_calls_per_step(const struct learn_loops *x);

/*
 * Returns the index of the loop whose iterations the anchor counts: each of them has about one. -1:
 * there is no such loop. Call after the last search.
 */
int64_t learn_loops_match(const struct learn_loops *x, const struct anchor_counts *counted);

/*
 * Returns whether the anchor may miss an iteration of the chosen loop each time that the program
 * comes to it, as a trigram does that extends over two iterations. Then the number of steps may be
 * wrong, without an optimizer that shows them. The last search must have found a loop.
 */
bool learn_loops_is_inexact(const struct learn_loops *x, const struct anchor_counts *counted);

/*
 * Returns whether the stacks are known, and show no loop at all. Then what recurs is in recursion,
 * in callbacks, or on threads that live for a step or for a part of one.
 */
bool learn_loops_see_none(const struct learn_loops *x);

/* Returns whether the last search found a loop with enough iterations to be the step. */
bool learn_loops_has_enough(const struct learn_loops *x);

/* Returns whether this loop may well be the step. */
bool learn_loops_is_possible(const struct learn_loops *x);

/* Returns whether the steps counted are not those of the last search, which found a loop. */
bool learn_loops_contradict(const struct learn_loops *x, const struct anchor_counts *counted);

/*
 * Returns whether the last search should decide against the steps that launches have shown,
 * `anchor` and `confidence`. It does if it is clear. It also does if the launches count the
 * iterations of no loop, unless the tree may lack one: without an optimizer, the launches are wrong
 * then, and else they are worth half. A loop that is missing around this one is no reason for more
 * steps than this loop has iterations. Otherwise the more certain one decides.
 */
bool learn_loops_outweigh(const struct learn_loops *x, uint64_t anchor, double confidence);

#endif
