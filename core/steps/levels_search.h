/*
 * One search for levels in a stretch of events (core/steps/levels_find.h): the groups of trigrams
 * found so far, and scratch space by token. Shared by levels_find.c (groups), levels_iterations.c
 * (what the iterations contain), levels_odd.c (what only some contain) and levels_choose.c (which
 * loop is the step).
 */
#ifndef CORE_LEVELS_SEARCH_H
#define CORE_LEVELS_SEARCH_H

#include "core/steps/levels_find.h"

/*
 * Share of iterations that must contain something for it to count as part of the loop. The first
 * and the last iteration may differ.
 */
#define MOST_ITERATIONS 0.8
#define NO_GROUP	UINT32_MAX
/* Iterations that have this share in common are the same. */
#define EXACTLY_ALIKE 0.995
/* Likeness of iterations in a loop whose inner iterations occur in the same order. */
#define ALIKE_WHOLE 0.85
/*
 * A level of fewer trigrams is an accident, unless its iterations have no more: wherever two calls
 * meet, such as at the end of an evaluation's batch, there are three trigrams across.
 */
#define MIN_MEMBERS 4u
/* Threads with windows of their own when iterations are compared; more threads share them. */
#define SEARCH_THREADS 16u

/* A trigram that occurs often enough, and its group. */
struct candidate {
	uint32_t trigram, count, group;
};

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
	 * By kernel or token: occurrences in the iteration before the last, in the last, and in
	 * this one.
	 */
	uint32_t *earlier, *before, *here;
	/* By hash of six launches: number of the last iteration that had them. */
	uint32_t *last_iteration;
	uint32_t last_iteration_mask;
	uint32_t forms_before[SEARCH_THREADS][3]; /* of each thread */
	/* Of the level that is examined: the thread that drives it, and the other one. */
	uint32_t home, backward;
	uint32_t iterations; /* of the level that search_weigh() examines */
	double forgiven;
	uint64_t budget; /* comparisons left */
};

/* ---- levels_home.c ---- */

/*
 * Whether this was launched by the thread that drives the iterations, or by one of a pool of
 * threads that all launch the same.
 */
bool search_is_own(const struct search *q, const struct levels_stored *e);

/*
 * Sets the thread that drives the iterations: of the two that launch most of their events, the one
 * that launched first. A backward thread starts later.
 */
void search_set_home(struct search *q, const uint32_t *at, uint32_t n);

/*
 * Whether what another thread launches here may belong to the `n` iterations: it recurs in at least
 * half of them. The launches of an unrelated thread fall into iterations only by chance.
 */
bool search_recurs(const struct search *q, const struct levels_stored *e, uint32_t n);

/*
 * levels_iterations.c: describes group number `group` in `level`, except for its members. Returns
 * whether it is a loop at all.
 */
bool search_weigh(struct search *q, uint32_t group, struct levels_level *level);

/*
 * Finds the level whose iterations each read a result to the host and then feed what follows from
 * it (TOKEN_EXCHANGE), if nothing is trained. It may have few trigrams. Returns whether there is
 * one.
 */
bool search_find_request_loop(struct search *q, struct levels_level *level);

/*
 * search_look_for_tail() finds what the choice between loops needs; search_look_closer() then
 * completes the chosen level: round, unusual iterations, inside.
 */
void search_look_for_tail(struct search *q, struct levels_level *level);
void search_look_closer(struct search *q, struct levels_level *level);

/*
 * levels_odd.c: counts the level's unusual iterations, other work, other steps and recurring
 * kernels. The level's home thread must be set.
 */
void search_count_odd(struct search *q, struct levels_level *level);

/*
 * What the iterations of an outer level have in addition to those of an inner one, per outer
 * iteration.
 */
struct levels_extra {
	double fed, read;  /* copies to the device; copies to the host and waits */
	double novel;	   /* launches that inner iterations do not have */
	double known;	   /* other launches */
	double foreign;	   /* launches of the backward thread */
	double optimizers; /* optimizer launches among `novel` */
	double replaced;   /* launches of inner iterations that are replaced by others */
	double inner_iterations;
};
struct levels_extra search_compare(struct search *q, const struct levels_level *inner,
				   const struct levels_level *outer);

/* Returns how many of the level's iterations contain a launch with one of these hints. */
uint32_t search_count_iterations(const struct search *q, const struct levels_level *level,
				 uint32_t hints);

/*
 * Whether each iteration contains an optimizer's step that evaluates its closure more than once,
 * and that ends within the iteration. No other loop has that, however little lies between two such
 * steps and however many launches they take.
 */
bool search_has_whole_steps(const struct search *q, const struct levels_level *level);

/*
 * levels_choose.c: finds the step and describes it in `best`. Returns its group's number, or
 * NO_GROUP.
 */
uint32_t search_choose(struct search *q, struct levels_level *best);

#endif
