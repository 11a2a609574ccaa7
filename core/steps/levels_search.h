/*
 * One search for levels in a stretch of events (core/steps/levels_find.h): the groups of trigrams that it
 * has found so far, and scratch space by token. Shared by levels_find.c (groups), levels_iterations.c
 * (what their turns hold), levels_odd.c (what only some hold) and levels_choose.c (which of them is the step).
 */
#ifndef CORE_LEVELS_SEARCH_H
#define CORE_LEVELS_SEARCH_H

#include "core/steps/levels_find.h"

/* Share of iterations in which something must be for it to count as part of the loop: a first or last
 * turn may differ. */
#define MOST_ITERATIONS 0.8
#define NO_GROUP	UINT32_MAX
/* Turns that share so much are the same. */
#define EXACTLY_ALIKE 0.995
/* So alike are turns of a loop in which other ones come in the same order. */
#define ALIKE_WHOLE 0.85
/* A level of fewer trigrams is an accident, unless its iterations have no more: three lie across any place where two calls meet, such
 * as where an evaluation's batch ends. */
#define MIN_MEMBERS 4u
/* Threads with windows of their own when turns are compared; more share them. */
#define SEARCH_THREADS 16u

/* A trigram that comes often enough, and its group. */
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
	uint32_t *earlier, *before,
		*here; /* by kernel or token: how often in the iteration before the last, in the last, and in this one */
	uint32_t *
		last_iteration; /* by hash of six launches: the number of the last iteration that had them */
	uint32_t last_iteration_mask;
	uint32_t forms_before[SEARCH_THREADS][3]; /* of each thread */
	uint32_t home,
		backward; /* of the level that is looked at: the thread that drives it, and the other one */
	uint32_t iterations; /* of the level that search_weigh() looks at */
	double forgiven;
	uint64_t budget; /* steps of comparison left */
};

/* ---- levels_home.c ---- */

/* Whether the thread that drives the iterations launched this, or one of a pool of which each launches the same. */
bool search_is_own(const struct search *q, const struct levels_stored *e);

/* Who drives the iterations: of the two threads that launch most of them the one that came first. A backward thread comes later. */
void search_set_home(struct search *q, const uint32_t *at, uint32_t n);

/* Whether what another thread launches here may belong to the `n` iterations: it comes back in half of them. What an unrelated
 * thread launches meets the iterations by chance. */
bool search_recurs(const struct search *q, const struct levels_stored *e, uint32_t n);

/* levels_iterations.c: describes group number `group` in `level`, but for its members. Whether it is a loop at all. */
bool search_weigh(struct search *q, uint32_t group, struct levels_level *level);

/* The level, of however few trigrams, in each iteration of which the host reads a result and then feeds what follows from it (TOKEN_EXCHANGE), if
 * nobody learns. Whether there is one. */
bool search_find_request_loop(struct search *q, struct levels_level *level);

/* ...then what the choice between loops needs, its tail; and of the one that is chosen all the rest: round, unusual, inside. */
void search_look_for_tail(struct search *q, struct levels_level *level);
void search_look_closer(struct search *q, struct levels_level *level);

/* levels_odd.c: counts unusual, strange, other steps and recurring among the iterations of the level, whose home is set. */
void search_count_odd(struct search *q, struct levels_level *level);

/* What the iterations of an outer level have beyond those of an inner one. */
struct levels_extra {
	double fed, read;  /* copies to the device; copies to the host and waits: per outer turn */
	double novel;	   /* launches that the inner turns do not have, per outer turn */
	double known;	   /* other launches, per outer turn */
	double foreign;	   /* launches of the backward thread, per outer turn */
	double optimizers; /* those that are an optimizer's, of `novel` */
	double replaced; /* launches of inner turns that others stand in place of, per outer turn */
	double inner_iterations; /* per outer turn */
};
struct levels_extra search_compare(struct search *q, const struct levels_level *inner,
				   const struct levels_level *outer);

/* Of its iterations, those that hold a launch with one of these hints. */
uint32_t search_count_iterations(const struct search *q, const struct levels_level *level,
				 uint32_t hints);

/* Whether each iteration holds a step of an optimizer's that evaluates its closure more than once, and is over within the iteration: no other loop has that, as
 * little as there may be between two of them, and as many launches as they take. */
bool search_has_whole_steps(const struct search *q, const struct levels_level *level);

/* levels_choose.c: the step, as a group's number, described in `best`; NO_GROUP: none. */
uint32_t search_choose(struct search *q, struct levels_level *best);

#endif
