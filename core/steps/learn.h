/*
 * Learns the steps of PROF_STEP=auto in the process that reads the journal: the collector, or an
 * offline tool. Passes the journaled launches to core/steps/levels.h, and publishes the anchor and
 * the base to the library (struct journal_steps in core/runtime/record.h). One struct learn per
 * profiled process, used by one thread.
 */
#ifndef CORE_LEARN_H
#define CORE_LEARN_H

#include "core/runtime/step_state.h"
#include "core/runtime/token.h"
#include "core/source/journal/ingest.h"
#include "core/steps/anchors.h"
#include "core/steps/learn_frames.h"
#include "core/steps/learn_function.h"
#include "core/steps/learn_loops.h"
#include "core/steps/learn_midstep.h"
#include "core/steps/levels.h"

struct learn_thread {
	uint32_t slot;
	struct token_window window;
	uint32_t n; /* number of launches and copies so far */
	/* Time that the thread spent blocked since its last launch or copy. */
	uint64_t blocked_ticks;
	/*
	 * End of the newest call that was read. Every earlier call of the thread has been read too.
	 */
	uint64_t read_until_ticks;
	/* The thread has synchronized since its last launch or copy. */
	bool has_synced;
	bool has_anchor; /* the thread has completed the anchor or its backup since the choice */
};

struct learn {
	struct levels *levels;
	VEC(struct learn_thread) threads;
	struct map thread_of_slot;
	struct learn_frames frames;
	struct learn_function function; /* PROF_STEP=python: used instead of `levels` */
	/* PROF_STEP=auto: decides at the end, if the process ended in its opening */
	struct learn_loops loops;
	/* somebody asked for steps by their numbers, so these must not be cut anew at the end */
	bool keeps_numbers;
	const char *wanted_loop; /* FILE-SUFFIX:LINE, in place of PROF_STEP; NULL: none */
	struct level_choice choice;
	/*
	 * LEARNING, PROVISIONAL, CONFIRMED or WITHDRAWN. `choice` is valid if it is PROVISIONAL or
	 * CONFIRMED.
	 */
	enum step_state state;
	/*
	 * The state of the library that this search is to end: LEARNING for the first search, LOST,
	 * WITHDRAWN or OVERDUE for a later one, until its base is published. While it is OVERDUE,
	 * only steps that an optimizer ends are accepted.
	 */
	enum step_state asked;
	bool by_loops;	     /* the process has ended, and `choice` comes from `loops` */
	bool is_doubted;     /* the opening goes on, and its loops may contradict the choice */
	uint32_t generation; /* generation of the anchor published last; 0: none yet */
	/* The provisional generation with which the library counts steps; 0: none. */
	uint32_t provisional_generation;
	/* The base has been published, or none is needed. */
	bool has_base;
	uint64_t n_ended_before; /* number of steps that had ended when the anchor was chosen */
	bool continues_numbers;	 /* steps counted with an earlier anchor stay valid */
	anchor_hits hits;	 /* occurrences of anchor and backup since the choice */
	/* STEP_COUNTED records of steps whose numbers are not known yet. */
	VEC(struct rec_step) counted;
	uint32_t n_lost; /* value of journal_steps.lost that learn_watch() saw last */
	/*
	 * The last value of journal_steps.overdue_ticks, and the number of the step that was under
	 * way then.
	 */
	uint64_t overdue_ticks;
	uint64_t overdue_number;
	/*
	 * While the anchor is overdue: it, how many steps it has ended since, and their calls. The
	 * search has found these steps again if `is_same`.
	 */
	struct {
		uint64_t anchor, n_anchors;
		uint32_t every, calls_per_step;
		bool is_same;
	} doubted;
	struct learn_midstep midstep;
	uint64_t n_since_anchor; /* launches and copies since the last anchor or backup */
	/*
	 * A second search, only for steps that an optimizer ends. It runs if the library has not
	 * counted a step with the published anchor and the anchor no longer occurs. NULL: no second
	 * search.
	 */
	struct levels *seeker;
	uint64_t first_ticks; /* begin of the first launch of the current search; 0: none yet */
};

/* learn_stop() frees everything that `l` owns, but not `l` itself. */
void learn_start(struct learn *l);
void learn_stop(struct learn *l);

/* Returns whether `choice` is valid. */
static inline bool learn_has_choice(const struct learn *l)
{
	return step_state_is_counting(l->state);
}

static inline bool learn_is_provisional(const struct learn *l)
{
	return l->state == STEP_STATE_PROVISIONAL;
}

static inline bool learn_is_overdue(const struct learn *l)
{
	return l->asked == STEP_STATE_OVERDUE;
}

/* Returns whether the search for steps goes on. */
bool learn_is_feeding(const struct learn *l);

/*
 * Takes the next call of thread `slot`. Calls of one thread must come in order. Call it for all
 * calls; once learn_is_feeding() returns false, it only completes the loops.
 */
void learn_feed(struct learn *l, struct ingest *f, uint32_t slot, const struct rec_call *c);

/* Takes the next record of thread `slot` about the creation of threads. */
void learn_feed_thread(struct learn *l, const struct ingest *f, uint32_t slot,
		       const struct rec_thread *r);

/* Takes the next record of thread `slot` about CUDA graphs: REC_NODE or REC_GRAPH. */
void learn_feed_graph(struct learn *l, const struct ingest *f, uint32_t slot,
		      const struct rec_head *record);

/*
 * Takes a STEP_COUNTED record. Adds the step's mark to `f` once the step's number is known. Until
 * then no step may be passed on: a collector that is late may also have read the mark of the exit.
 */
void learn_count(struct learn *l, struct ingest *f, const struct rec_step *step);

/*
 * Call before each pass over new records while the process runs. Restarts the search if the library
 * has lost its anchor or reports that the anchor is overdue.
 */
void learn_watch(struct learn *l, struct ingest *f);

/*
 * Call after each pass over new records while the process runs. Searches for steps and publishes
 * the result to the library. Returns true if this call published the base.
 */
bool learn_tell(struct learn *l, struct ingest *f);

/*
 * Call once the process has ended and all its calls have been fed. Returns false if the provisional
 * steps proved wrong, or could not be confirmed; these steps are void then.
 */
bool learn_end_provisional(struct learn *l, struct ingest *f);

/*
 * Chooses the steps of a finished journal once all its calls have been fed; `l->choice` then
 * describes them. Returns false if no steps were found.
 */
bool learn_conclude(struct learn *l, const struct ingest *f);

/*
 * Call after each pass over new records while the process runs. Compares the steps that the
 * launches have shown with the loops. If they differ, the opening goes on: it must contain enough
 * of the right steps, whichever these are.
 */
void learn_compare(struct learn *l, struct ingest *f);

/*
 * Call once all calls of a process that ended in its opening have been fed. Returns whether the
 * loops decide what a step is, rather than `anchor`, which has this confidence. If so, `l->choice`
 * and `l->loops.choice` describe the steps.
 */
bool learn_loops_decide(struct learn *l, const struct ingest *f, uint64_t anchor,
			double confidence);

/* The loop whose iterations are the steps. */
struct learn_named {
	const struct loop_choice *loop; /* owned by struct learn; NULL: unknown */
	/*
	 * The steps counted are the iterations of no loop although the stacks show one, or they are
	 * not those of the loop that the stacks clearly show, or the stacks show no loop at all.
	 */
	bool is_contradicted;
	/* Then `loop` is that loop: the steps counted are the iterations of no loop. */
	bool is_other;
	bool is_inexact; /* see learn_loops_is_inexact() */
};

/* Returns the loop of the steps that were counted. Call once all calls have been fed. */
struct learn_named learn_loop(struct learn *l, const struct ingest *f,
			      const struct anchor_counts *counted);

#endif
