/*
 * Finds the loops (levels) in a stretch of events, and the loop that is most likely the step. Then
 * finds the trigram that ends the step in that loop. The functions only read a sorted levels_store.
 * core/steps/levels.c decides whether to accept the result.
 */
#ifndef CORE_LEVELS_FIND_H
#define CORE_LEVELS_FIND_H

#include "core/runtime/iteration.h"
#include "core/steps/levels_store.h"

/* In levels_index.form_threads: several threads launch this form. */
#define LEVELS_ANY_THREAD UINT32_MAX

/*
 * Where each trigram occurs: number t is completed by the events positions[offsets[t]] to
 * positions[offsets[t + 1] - 1], in ascending order.
 */
struct levels_index {
	uint32_t *offsets, *positions;
	uint32_t *form_counts; /* by form number: number of occurrences */
	/*
	 * By form number: the thread that launches this form, or LEVELS_ANY_THREAD if several
	 * threads do, such as those of a pool.
	 */
	uint32_t *form_threads;
	uint32_t start, end; /* the events searched are [start, end) */
};

/*
 * Indexes the events [start, end). Returns 0 or -ENOMEM. Free the index with levels_index_free().
 */
int levels_index_make(struct levels_index *x, const struct levels_store *s, uint32_t start,
		      uint32_t end);
void levels_index_free(struct levels_index *x);

/* Returns how often a trigram occurs. */
static inline uint32_t levels_index_count(const struct levels_index *x, uint32_t trigram)
{
	return x->offsets[trigram + 1] - x->offsets[trigram];
}

/* Returns the events that complete a trigram, in ascending order. */
static inline const uint32_t *levels_index_of(const struct levels_index *x, uint32_t trigram)
{
	return x->positions + x->offsets[trigram];
}

/* number of launches in a trigram */
#define TRIGRAM 3u

/*
 * Returns the number of events from the first launch of a trigram's first occurrence to the last
 * launch of its last occurrence. `at`: the events that complete the trigram.
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
 * An outer loop is found as a level once it has had this many iterations. So if at least this many
 * iterations of a loop are unusual, and no outer loop was found, there is no outer loop.
 */
#define UNUSUAL_ENOUGH 6u

/*
 * One loop of the program. An iteration extends from one occurrence of the reference trigram to the
 * next one.
 */
struct levels_level {
	uint32_t group;	    /* the number of its group in the search that found it */
	uint32_t reference; /* the most frequent trigram of the level */
	uint32_t *members;  /* all trigrams of the level */
	uint32_t n_members;
	uint32_t iterations;
	/* Only the latest iterations are examined, from this one on. */
	uint32_t first_looked_at;
	uint32_t calls_per_iteration; /* median */
	/*
	 * level_hint bits of the events from the first to the last iteration, and LEVEL_THREADS.
	 * Leaves out hints that have stopped recurring.
	 */
	uint32_t inside;
#define LEVEL_THREADS 0x10000u /* other threads launch, too */
	double alike; /* mean share of events that an iteration has in common with the next one */
	/*
	 * mean share of an iteration's events that come in the same order as in the previous one
	 */
	double ordered;
	double coverage; /* share of the searched events that belong to the iterations */
	double score;	 /* weight of the level; see search_weigh() */
	/*
	 * After this many iterations the same work occurs again. 1: each iteration has the same
	 * work.
	 */
	uint32_t round;
	/*
	 * Most iterations are nearly the same as the next one. A few may differ, such as the first
	 * ones.
	 */
	bool mostly_alike;
	/* the iterations are similar, apart from work that only some of them have */
	bool has_rare_work;
	bool optimizer; /* most iterations contain an optimizer phase, and other work */
	bool threads;	/* most iterations launch from more than one thread */
	/* few iterations launch from more than one thread: those between two runs of the loop */
	bool rarely_threaded;
	/*
	 * Each iteration does more work between the backward thread's last launch and the next
	 * input.
	 */
	bool tail;
	/*
	 * This level does not talk to the host. An outer loop that does was examined, and only
	 * logs.
	 */
	bool outer_is_log;
	bool fed;      /* most iterations copy to the device */
	bool read;     /* most iterations copy to the host or wait for the device */
	bool answered; /* most iterations copy to the host */
	/*
	 * The level has few trigrams and its iterations vary, but each ends with the only wait for
	 * the device.
	 */
	bool waited;
	bool exchanges; /* each iteration has the same few exchanges with the host */
	/* Each iteration is one exchange with the host, however few trigrams the level has. */
	bool request_loop;
	/*
	 * Number of iterations with more launches than most. They show that there may be an outer
	 * loop.
	 */
	uint32_t unusual;
	/* Number of iterations that also contain another network's step with its own optimizer. */
	uint32_t other_steps;
	/* Number of iterations with the most frequent kernel that recurs every few iterations. */
	uint32_t recurring;
	bool graph; /* most iterations launch graphs */
	/* fed, read or graph: most iterations exchange something with the host */
	bool talks_to_host;
};

/* Returns whether the level does not talk to the host and shows no sign of training. */
static inline bool level_is_bare(const struct levels_level *level)
{
	return !level->optimizer && !level->talks_to_host && !level->tail;
}

/*
 * In a loop without noise, at least this share of an iteration's launches comes in the same order
 * as in the iteration before. In a noisy loop, launches are lost, exchanged, or mixed with those of
 * another thread.
 */
#define ORDERED_CLEAN 0.97

/*
 * Returns whether launches vary between the iterations, by chance or because the program chooses
 * them at random.
 */
static inline bool level_is_noisy(const struct levels_level *level)
{
	return level->ordered < ORDERED_CLEAN;
}

/*
 * Finds the level that is most likely the step; best->n_members is 0 if there is none. Returns 0 or
 * -ENOMEM. Free the level with levels_level_free().
 */
int levels_find(const struct levels_store *s, const struct levels_index *x,
		struct levels_level *best);
void levels_level_free(struct levels_level *level);

struct levels_boundary {
	uint32_t trigram; /* the trigram after which the step ends; a member of the level */
	enum level_boundary how;
	uint64_t end;	  /* see struct level_choice */
	bool is_near_end; /* no optimizer is known to end the step at another place */
};

/* levels_boundary.c: finds where the steps of `level` end. Returns 0 or -ENOMEM. */
int levels_find_boundary(const struct levels_store *s, const struct levels_index *x,
			 const struct levels_level *level, struct levels_boundary *found);

/*
 * levels_backup.c: fills in `backup`, `backup_within` and `apart` for the anchor, which is trigram
 * number `anchor`.
 */
void levels_find_backup(const struct levels_store *s, const struct levels_index *x,
			const struct levels_level *level, uint32_t anchor,
			struct level_choice *out);

/*
 * levels_backup.c: returns how many of the stored steps the backup ended, because the anchor was
 * missing.
 */
uint64_t levels_count_missed(const struct levels_store *s, const struct level_choice *c);

/*
 * levels_backup.c: returns how often the anchor occurred among the stored events without ending a
 * step (core/runtime/iteration.h).
 */
uint64_t levels_count_early(const struct levels_store *s, const struct level_choice *c);

/* Returns the values of a choice that decide whether a launch ends a step. */
static inline struct iteration_anchors levels_iteration_of(const struct level_choice *c)
{
	return (struct iteration_anchors){ c->anchor, c->backup, c->backup_within,
					   c->thread, c->apart,	 c->every };
}

/* Sorts `values` in ascending order and returns the upper median. `n` must not be 0. */
int64_t levels_median(int64_t *values, uint32_t n);

#endif
