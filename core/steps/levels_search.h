/*
 * The state of one search for levels in a stretch of events (core/steps/levels_find.h): the groups
 * of trigrams found so far, and scratch space. Shared by levels_find.c (groups),
 * levels_iterations.c and levels_closer.c (what the iterations contain), levels_odd.c (what only
 * some iterations contain), levels_home.c (threads) and levels_choose.c (which loop is the step).
 */
#ifndef CORE_LEVELS_SEARCH_H
#define CORE_LEVELS_SEARCH_H

#include "core/steps/levels_find.h"

/*
 * Something belongs to the loop if at least this share of the iterations contains it. The first and
 * the last iteration may differ.
 */
#define MOST_ITERATIONS 0.8
#define NO_GROUP	UINT32_MAX
/* Iterations that have at least this share of launches in common count as the same. */
#define EXACTLY_ALIKE 0.995
/*
 * If an outer loop's inner iterations always occur in the same order, each outer iteration has at
 * least this share in common with the next one.
 */
#define ALIKE_WHOLE 0.85
/*
 * A level of fewer trigrams is an accident, unless its iterations have no more calls than that.
 * Wherever two parts of a program meet, such as at the end of an evaluation's batch, three trigrams
 * span both.
 */
#define MIN_MEMBERS 4u
/*
 * Threads that have their own window when iterations are compared. Further threads share these
 * windows.
 */
#define SEARCH_THREADS 16u

/* A trigram that occurs often enough to be searched for, its count, and the number of its group. */
struct candidate {
	uint32_t trigram, count, group;
};

/* The trigrams that alternate with trigram `reference`, which occurs `count` times. */
struct group {
	uint32_t reference, count, n_members;
};

struct search {
	const struct levels_store *store;
	const struct levels_index *index;
	struct candidate *candidates;
	uint32_t n_candidates;
	struct group *groups;
	uint32_t n_groups;
	/*
	 * Scratch space, by kernel or token. levels_iterations.c: number of occurrences in the
	 * iteration before the previous one, in the previous one, and in the current one.
	 */
	uint32_t *earlier, *before, *here;
	/* By hash of six launches in a row: number of the last iteration that contains them. */
	uint32_t *last_iteration;
	uint32_t last_iteration_mask;
	/* Numbers of the last three forms of each thread (levels_store.h). */
	uint32_t forms_before[SEARCH_THREADS][3];
	/*
	 * Threads of the level that is being examined: the one that drives its iterations, and the
	 * one of the backward pass. They are the same if there is no other thread.
	 */
	uint32_t home, backward;
	uint32_t iterations; /* number of iterations of that level */
	/* Violations of alternation that are allowed, as a share of the iterations. */
	double forgiven;
	uint64_t budget; /* number of comparisons left */
};

/* ---- levels_home.c ---- */

/*
 * Returns whether the event was launched by the thread that drives the iterations, or by one of a
 * pool of threads that all launch the same.
 */
bool search_is_own(const struct search *q, const struct levels_stored *e);

/*
 * Sets q->home and q->backward for the `n` - 1 iterations that begin at the events at[]. Of the two
 * threads with most launches, the one that launched first drives the iterations, because a backward
 * thread starts later.
 */
void search_set_home(struct search *q, const uint32_t *at, uint32_t n);

/*
 * Returns whether an event of another thread may belong to the `n` iterations. It may if its form
 * (levels_store.h) occurs at least half as often as there are iterations. The launches of an
 * unrelated thread fall into iterations only by chance.
 */
bool search_recurs(const struct search *q, const struct levels_stored *e, uint32_t n);

/*
 * levels_iterations.c: describes group number `group` in `level`, except for its members. Returns
 * false if the group is not a loop.
 */
bool search_weigh(struct search *q, uint32_t group, struct levels_level *level);

/*
 * levels_iterations.c: finds the level in which each iteration reads a result to the host and then
 * copies the next input to the device (TOKEN_EXCHANGE). Returns false if there is none, or if
 * something is trained. The level may have few trigrams.
 */
bool search_find_request_loop(struct search *q, struct levels_level *level);

/*
 * levels_closer.c: both examine a level more closely. search_look_for_tail() sets level->tail,
 * which the choice between loops needs. search_look_closer() is for the chosen level, and sets
 * `round`, `inside` and what search_count_odd() counts.
 */
void search_look_for_tail(struct search *q, struct levels_level *level);
void search_look_closer(struct search *q, struct levels_level *level);

/*
 * levels_odd.c: counts the level's unusual iterations, those with other steps, and recurring
 * kernels. q->home must be set for this level.
 */
void search_count_odd(struct search *q, struct levels_level *level);

/*
 * What an outer level's iterations contain in addition to an inner level's. All values are per
 * outer iteration.
 */
struct levels_extra {
	double fed, read;  /* fed: copies to the device. read: copies to the host and waits. */
	double novel;	   /* launches that most inner iterations do not have */
	double known;	   /* launches that inner iterations have too */
	double foreign;	   /* launches of the backward thread */
	double optimizers; /* optimizer launches among `novel` */
	double replaced;   /* launches that inner iterations lack because others replace them */
	/* number of inner iterations */
	double inner_iterations;
};

/* levels_odd.c: compares two levels. `inner` must have more iterations than `outer`. */
struct levels_extra search_compare(struct search *q, const struct levels_level *inner,
				   const struct levels_level *outer);

/*
 * levels_choose.c: finds the level that is the step, and describes it in `best`. Returns the number
 * of its group, or NO_GROUP if there is none.
 */
uint32_t search_choose(struct search *q, struct levels_level *best);

#endif
