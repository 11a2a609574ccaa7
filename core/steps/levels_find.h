/*
 * Finds the loops (levels) in a stretch of events and the one that is most likely the step; then,
 * in that loop, the trigram that ends it. Pure functions of a sorted levels_store; core/steps/levels.c
 * decides whether to believe them.
 */
#ifndef CORE_LEVELS_FIND_H
#define CORE_LEVELS_FIND_H

#include "core/runtime/iteration.h"
#include "core/steps/levels_store.h"

#define LEVELS_ANY_THREAD UINT32_MAX

/* Where trigram number t ends: positions[offsets[t] .. offsets[t + 1]), ascending. */
struct levels_index {
	uint32_t *offsets, *positions;
	uint32_t *form_counts; /* by form: how often it comes */
	uint32_t *
		form_threads; /* the thread that launches it, or LEVELS_ANY_THREAD: several do, a pool's */
	uint32_t start, end; /* the stretch: events [start, end) */
};

/* Of the events [start, end). 0 or -ENOMEM. */
int levels_index_make(struct levels_index *x, const struct levels_store *s, uint32_t start,
		      uint32_t end);
void levels_index_free(struct levels_index *x);

static inline uint32_t levels_index_count(const struct levels_index *x, uint32_t trigram)
{
	return x->offsets[trigram + 1] - x->offsets[trigram];
}

static inline const uint32_t *levels_index_of(const struct levels_index *x, uint32_t trigram)
{
	return x->positions + x->offsets[trigram];
}

/* A trigram's launches. */
#define TRIGRAM 3u

/* Events of the stretch from a trigram's first launch to its last one. */
static inline uint32_t levels_span(const struct levels_index *x, const uint32_t *at, uint32_t count)
{
	uint32_t before = at[0] - x->start;
	return at[count - 1] - at[0] + (before < TRIGRAM ? before + 1 : TRIGRAM);
}

/* A layer has fewer calls than this. */
#define CALLS_OF_LAYER 24u
/* A backward pass launches no less. */
#define CALLS_OF_BACKWARD 3u

/* So many unusual turns, and the loop around would have shown itself as a level. */
#define UNUSUAL_ENOUGH 6u

/* One loop of the program. A turn goes from one occurrence of the reference to the next. */
struct levels_level {
	uint32_t group;	    /* its number in the search that found it */
	uint32_t reference; /* its most frequent trigram */
	uint32_t *members;  /* all its trigrams */
	uint32_t n_members;
	uint32_t iterations;
	uint32_t first_looked_at;     /* the first of the latest turns, which stand for all */
	uint32_t calls_per_iteration; /* median */
	uint32_t
		inside; /* level_hint bits of events between its first iteration and its last, and: */
#define LEVEL_THREADS 0x10000u /* ...there were launches of other threads */
	double alike;	 /* mean share of events that a iteration has in common with the next */
	double ordered;	 /* mean share of a iteration's trigrams that the one before had too */
	double coverage; /* share of the stretch that its iterations fill */
	double score;	 /* how much there is of it */
	uint32_t round;	 /* turns until the same work comes again, 1: the next */
	bool mostly_alike; /* nearly all of most iterations comes in the next, whatever the others are, as the first ones */
	bool has_rare_work;   /* more in some iterations than in others, which are alike */
	bool optimizer;	      /* its iterations have an optimizer phase, and other work */
	bool threads;	      /* its iterations launch from more than one thread */
	bool rarely_threaded; /* ...few of them do, as where a loop begins anew */
	bool tail; /* after the backward thread's work each iteration does more before it is fed again */
	bool outer_is_log; /* it talks to nobody; a loop around it that does has been looked at, and is a log */
	bool fed;      /* its iterations copy to the device */
	bool read;     /* its iterations read back, wait, or launch graphs */
	bool answered; /* its iterations copy to the host */
	bool waited; /* of few trigrams, and turns that differ, but each ends with the only wait for the device */
	bool exchanges; /* each of its iterations holds the same few exchanges with the host */
	bool request_loop; /* of however few trigrams, each of its iterations is one exchange with the host */
	uint32_t
		unusual; /* turns, of all, that are not as long as most: what is around the loop shows in them */
	uint32_t
		other_steps; /* turns, of all, in which another network's step stands, with an optimizer of its own */
	uint32_t
		other_work; /* turns, of all, with work in one piece that most of them do not have */
	uint32_t
		within_optimizer; /* turns, of all, that are within an optimizer's step from end to end, which evaluates its closure more than once */
	bool reevaluates; /* its iterations evaluate an optimizer's closure more than once in a step of it */
	uint32_t recurring;  /* turns with a kernel that comes in every so many of them */
	bool outer_rejected; /* a loop around it was looked at, and is none of the step */
	bool graph;	     /* its iterations launch graphs */
	bool talks_to_host; /* its iterations talk to the host: fed, or reading back, or waiting, or launching graphs */
};

/* It talks to nobody, and nothing says that it trains. */
static inline bool level_is_bare(const struct levels_level *level)
{
	return !level->optimizer && !level->talks_to_host && !level->tail;
}

/* Of a iteration's launches so many came in the same order in the one before, unless some are lost, exchanged or others' between them. */
#define ORDERED_CLEAN 0.97

/* Launches come, go and change places in its iterations: by chance, or because the program draws them. */
static inline bool level_is_noisy(const struct levels_level *level)
{
	return level->ordered < ORDERED_CLEAN;
}

/* The best level, n_members = 0 if there is none. 0 or -ENOMEM. */
int levels_find(const struct levels_store *s, const struct levels_index *x,
		struct levels_level *best);
void levels_level_free(struct levels_level *level);

struct levels_boundary {
	uint32_t trigram; /* the member after which the step ends */
	enum level_boundary how;
	uint64_t end;	  /* struct level_choice */
	bool is_near_end; /* no optimizer is known to end it somewhere else */
};

/* Where steps of `level` end. 0 or -ENOMEM. */
int levels_find_boundary(const struct levels_store *s, const struct levels_index *x,
			 const struct levels_level *level, struct levels_boundary *found);

/* levels_backup.c: fills in the backup of the anchor, trigram number `anchor` of `level`. */
void levels_find_backup(const struct levels_store *s, const struct levels_index *x,
			const struct levels_level *level, uint32_t anchor,
			struct level_choice *out);

/* Steps in the store whose anchor did not come, by the backup. */
uint64_t levels_count_missed(const struct levels_store *s, const struct level_choice *c);

/* How often the anchor came and ended no step (core/runtime/turn.h). */
uint64_t levels_count_early(const struct levels_store *s, const struct level_choice *c);

static inline struct iteration_anchors levels_iteration_of(const struct level_choice *c)
{
	return (struct iteration_anchors){ c->anchor, c->backup, c->backup_within, c->thread,
					   c->apart };
}

/* Sorts `values` and returns the upper median; n > 0. */
int64_t levels_median(int64_t *values, uint32_t n);

#endif
