/*
 * Finds the loops (levels) in a stretch of events and the one that is most likely the step; then,
 * in that loop, the trigram that ends it. Pure functions of a sorted levels_store;
 * core/steps/levels.c decides whether to accept the result.
 */
#ifndef CORE_LEVELS_FIND_H
#define CORE_LEVELS_FIND_H

#include "core/runtime/iteration.h"
#include "core/steps/levels_store.h"

#define LEVELS_ANY_THREAD UINT32_MAX

/* Trigram number t ends at the events positions[offsets[t] .. offsets[t + 1]), ascending. */
struct levels_index {
	uint32_t *offsets, *positions;
	uint32_t *form_counts; /* by form: number of occurrences */
	/*
	 * By form: the thread that launches it, or LEVELS_ANY_THREAD if several do, such as a
	 * pool's.
	 */
	uint32_t *form_threads;
	uint32_t start, end; /* the stretch: events [start, end) */
};

/* Indexes the events [start, end). Returns 0 or -ENOMEM. */
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

/* Launches of a trigram. */
#define TRIGRAM 3u

/*
 * Returns the number of events from the first launch of a trigram's first occurrence to the last of
 * its last one.
 */
static inline uint32_t levels_span(const struct levels_index *x, const uint32_t *at, uint32_t count)
{
	uint32_t before = at[0] - x->start;
	return at[count - 1] - at[0] + (before < TRIGRAM ? before + 1 : TRIGRAM);
}

/* A layer has fewer calls than this. */
#define CALLS_OF_LAYER 24u
/* A backward pass has at least this many launches. */
#define CALLS_OF_BACKWARD 3u

/*
 * An outer loop of this many iterations shows itself as a level, so more unusual ones than this are
 * not due to one.
 */
#define UNUSUAL_ENOUGH 6u

/* One loop of the program. An iteration goes from one occurrence of the reference to the next. */
struct levels_level {
	uint32_t group;	    /* its number in the search that found it */
	uint32_t reference; /* its most frequent trigram */
	uint32_t *members;  /* all its trigrams */
	uint32_t n_members;
	uint32_t iterations;
	uint32_t first_looked_at;     /* the latest iterations, from this one on, stand for all */
	uint32_t calls_per_iteration; /* median */
	/* level_hint bits of events between its first and its last iteration, and LEVEL_THREADS. */
	uint32_t inside;
#define LEVEL_THREADS 0x10000u /* launches of other threads */
	double alike;	 /* mean share of events that an iteration has in common with the next */
	double ordered;	 /* mean share of an iteration's trigrams that the previous one had too */
	double coverage; /* share of the stretch that its iterations fill */
	double score;	 /* weight; see search_weigh() */
	uint32_t round;	 /* iterations until the same work occurs again; 1: the next */
	/*
	 * Most iterations are nearly the same as the next one, however the others differ, such as
	 * the first ones.
	 */
	bool mostly_alike;
	bool has_rare_work;   /* the iterations are alike, apart from work that only some have */
	bool optimizer;	      /* its iterations have an optimizer phase, and other work */
	bool threads;	      /* its iterations launch from more than one thread */
	bool rarely_threaded; /* few of them do, as where a loop starts over */
	/* After the backward thread's work, each iteration does more before its next input. */
	bool tail;
	/* It does not talk to the host; an outer loop that does was examined, and is a log. */
	bool outer_is_log;
	bool fed;      /* its iterations copy to the device */
	bool read;     /* its iterations read back, wait, or launch graphs */
	bool answered; /* its iterations copy to the host */
	/* Few trigrams and varying iterations, but each ends with the only wait for the device. */
	bool waited;
	bool exchanges; /* each of its iterations has the same few exchanges with the host */
	/* Each of its iterations is one exchange with the host, however few trigrams there are. */
	bool request_loop;
	/* Of all iterations, those not as long as most: a loop around this one shows in them. */
	uint32_t unusual;
	/*
	 * Of all iterations, those that also contain another network's step, with an optimizer of
	 * its own.
	 */
	uint32_t other_steps;
	/* Of all iterations, those with a run of launches that most do not have. */
	uint32_t other_work;
	/*
	 * Of all iterations, those entirely within an optimizer's step that evaluates its closure
	 * more than once.
	 */
	uint32_t within_optimizer;
	/* Its iterations contain an optimizer's step that evaluates its closure more than once. */
	bool reevaluates;
	uint32_t recurring;  /* iterations with a kernel that recurs every few iterations */
	bool outer_rejected; /* an outer loop was examined, and is not the step */
	bool graph;	     /* its iterations launch graphs */
	bool talks_to_host;  /* its iterations are fed, read back, wait, or launch graphs */
};

/* Whether it does not talk to the host, and nothing indicates training. */
static inline bool level_is_bare(const struct levels_level *level)
{
	return !level->optimizer && !level->talks_to_host && !level->tail;
}

/*
 * At least this share of an iteration's launches has the same order as in the previous one, unless
 * launches are lost, exchanged or mixed with another thread's.
 */
#define ORDERED_CLEAN 0.97

/* Whether launches vary between its iterations, by chance or by the program's random choice. */
static inline bool level_is_noisy(const struct levels_level *level)
{
	return level->ordered < ORDERED_CLEAN;
}

/* Finds the best level; n_members is 0 if there is none. Returns 0 or -ENOMEM. */
int levels_find(const struct levels_store *s, const struct levels_index *x,
		struct levels_level *best);
void levels_level_free(struct levels_level *level);

struct levels_boundary {
	uint32_t trigram; /* the member after which the step ends */
	enum level_boundary how;
	uint64_t end;	  /* see struct level_choice */
	bool is_near_end; /* no optimizer is known to end it at another place */
};

/* Finds where steps of `level` end. Returns 0 or -ENOMEM. */
int levels_find_boundary(const struct levels_store *s, const struct levels_index *x,
			 const struct levels_level *level, struct levels_boundary *found);

/* levels_backup.c: fills in the backup of the anchor, trigram number `anchor` of `level`. */
void levels_find_backup(const struct levels_store *s, const struct levels_index *x,
			const struct levels_level *level, uint32_t anchor,
			struct level_choice *out);

/* Returns how many steps in the store ended without the anchor, by the backup. */
uint64_t levels_count_missed(const struct levels_store *s, const struct level_choice *c);

/* Returns how often the anchor occurred without ending a step (core/runtime/iteration.h). */
uint64_t levels_count_early(const struct levels_store *s, const struct level_choice *c);

static inline struct iteration_anchors levels_iteration_of(const struct level_choice *c)
{
	return (struct iteration_anchors){ c->anchor, c->backup, c->backup_within, c->thread,
					   c->apart };
}

/* Sorts `values` and returns the upper median; n > 0. */
int64_t levels_median(int64_t *values, uint32_t n);

#endif
