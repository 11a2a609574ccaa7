/*
 * Learns what a step is from launches alone. Stores the launches of one process as the collector
 * reads them from the journal. Finds the loops in them (levels), and chooses the loop that is the
 * step and the anchor that ends the step. The anchor is a trigram: the hash of three launches in a
 * row of one thread (core/runtime/token.h). It occurs exactly once per step. Runs in one thread of
 * the collector, never in the application. Gives no answer rather than a guess.
 *
 * A level is a set of trigrams that strictly alternate: between two occurrences of one of them,
 * each of the others occurs exactly once. So they belong to the same loop. The step is the level
 * with the most trigrams. The weight of a level also depends on how similar its iterations are, and
 * on whether they contain what can occur only once per step: an optimizer phase, a copy, a
 * synchronization.
 */
#ifndef CORE_LEVELS_H
#define CORE_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What is known about an event: bits of level_event.hints. All hints are optional; with more of
 * them, the choice is right more often.
 */
enum level_hint {
	LEVEL_OPTIMIZER = 1, /* an optimizer's kernel: see kernel_is_optimizers() */
	LEVEL_H2D = 2,	     /* a copy to the device */
	LEVEL_D2H = 4,	     /* a copy to the host */
	LEVEL_COPY = 8, /* any copy, including those of the two hints above; not counted as work */
	LEVEL_GRAPH = 16,  /* a graph launch */
	LEVEL_SYNCED = 32, /* the thread has waited for the device since its previous event */
	/*
	 * The kernel's name or its Python frames are known. So if LEVEL_OPTIMIZER is not set, the
	 * kernel is not an optimizer's.
	 */
	LEVEL_NAMED = 64,
};

/*
 * One call that the library pushes into its thread's token window (preload/steps.h): a launch,
 * graph launch or copy.
 */
struct level_event {
	uint64_t token;	 /* see core/runtime/token.h */
	uint64_t kernel; /* the kernel's function, whatever the grid; 0: unknown, or not a kernel */
	uint64_t begin_ns, end_ns;
	/*
	 * The part of the time since the thread's previous event in which the thread was blocked in
	 * other calls.
	 */
	uint64_t blocked_ns;
	uint32_t hints; /* enum level_hint */
};

/* How the boundary between two iterations was chosen. */
enum level_boundary {
	LEVEL_BY_OPTIMIZER, /* the optimizer's last launch */
	LEVEL_BY_GAP, /* the CPU's longest pause; copies and waits decide between similar pauses */
	LEVEL_BY_FUNCTION, /* the first launch of a function (core/steps/learn_function.h) */
	LEVEL_BY_LOOP,	   /* the place where a loop goes round (core/steps/loop_tree.h) */
};

/* How an answer differs from the provisional one that it replaces. */
enum level_change {
	LEVEL_UNCHANGED,
	/*
	 * The steps are the same, but end at another launch, or their number at the start
	 * of the run differs.
	 */
	LEVEL_MOVED,
	LEVEL_CORRECTED, /* the steps are different ones */
};

/* The features of an answer from which its confidence is computed (core/steps/levels_sure.c). */
struct level_signs {
	uint32_t iterations;
	/*
	 * coverage: share of the searched events that belong to iterations of the level. alike:
	 * mean share of events that an iteration has in common with the next one.
	 */
	double coverage, alike;
	double unusual;	    /* share of iterations that are longer than most */
	bool is_read;	    /* the iterations copy to the host or wait for the device */
	bool is_noisy;	    /* launches vary between the iterations */
	bool is_latter;	    /* no loop fills all events; this one fills a latter part of them */
	bool has_optimizer; /* detected by name, by frames, or as a tail after the backward pass */
	/* The optimizer was detected only as a tail, although kernels have names. */
	bool optimizer_unnamed;
	bool is_enough; /* there were enough iterations for a final answer */
};

struct level_choice {
	uint64_t anchor; /* trigram hash; the step ends after the launch that completes it */
	uint64_t backup; /* ends a step that lacks the anchor (core/runtime/iteration.h); 0: none */
	bool backup_is_last;	  /* the backup has occurred after the last anchor that was fed */
	uint32_t backup_within;	  /* number of launches of `thread` from the backup to the anchor */
	uint32_t n_early_backups; /* number of backups that occurred before the first step */
	uint32_t thread;	  /* the thread that launches the anchor */
	uint32_t apart;		  /* number of launches of `thread`; see struct iteration_anchors */
	/* Not 0: not each anchor ends a step; see iteration_ends_at(). `count` and n_missed differ
	 * then. */
	uint32_t every, lead;
	/*
	 * token_pair_hash() of the last two calls of a step, if the last launches of the anchor
	 * belong to the next step; else 0.
	 */
	uint64_t end;
	uint32_t calls_per_step; /* median; counts the events of all threads */
	/*
	 * Number of steps that have ended since the first event that was fed. These are the
	 * occurrences of the anchor, those of the backup where the anchor was missing, and
	 * n_missed. With `every`: the occurrences of the anchor alone.
	 */
	uint64_t count;
	/*
	 * Number of steps that ended without an anchor before it occurred first, because the first
	 * step may differ. -1: the anchor occurred before the first step had ended.
	 */
	int64_t n_missed;
	double confidence; /* 0 to 1: share of answers with this confidence that are right */
	struct level_signs signs;
	enum level_boundary boundary;
	bool is_near_end;    /* no optimizer is known to end the step at another place */
	bool is_provisional; /* another choice may replace this one; learning continues */
	/* How many times the answer changed while it was provisional, and its last change. */
	uint32_t n_changes;
	enum level_change change;
};

/*
 * Returns how much an answer of launches is worth that has this confidence and boundary, if no loop
 * of the stacks counts the same steps. The confidence of other answers stays.
 */
double levels_sure_alone(double confidence, enum level_boundary boundary);

/* Returns the boundary's name for reports. */
const char *level_boundary_name(enum level_boundary boundary);

struct levels;

/*
 * levels_new() returns NULL if memory is exhausted. Free its result with levels_free(), which
 * allows NULL.
 */
struct levels *levels_new(void);
void levels_free(struct levels *l);

/* Sets whether only steps that an optimizer ends are accepted. */
void levels_want_optimizer(struct levels *l, bool wants);

/*
 * Takes the next event of `thread`. Events of one thread must come in order; threads may come in
 * any order. Feed every call that the library pushes into its token window, because an anchor
 * consists of calls that follow each other directly. Returns 0 or -ENOMEM.
 */
int levels_feed(struct levels *l, uint32_t thread, const struct level_event *event);

/*
 * Returns whether the step is known, and describes it in `out` if it is. Cheap to call after every
 * batch, because it searches only when the number of events has grown by a certain share (3 to 25
 * %).
 *
 * The first answer comes early and is provisional. As more events are fed, it is confirmed with the
 * same anchor, or it changes (n_changes). It changes three times at most, and the last change only
 * moves the boundary (LEVEL_MOVED). A final choice stays the same until levels_relearn(); only its
 * count grows.
 */
bool levels_vote(struct levels *l, struct level_choice *out);

/*
 * Like levels_vote(), but after the last event. As nothing more will come, one vote suffices for an
 * answer. Drops a provisional answer if the last iterations showed that it is only part of the
 * step, or if it is still a guess.
 */
bool levels_conclude(struct levels *l, struct level_choice *out);

/* Makes the provisional answer final. */
void levels_confirm(struct levels *l);

/*
 * Drops the provisional answer, because its anchor no longer occurs. Keeps the events. The next
 * answer is final at once.
 */
void levels_withdraw(struct levels *l);

/*
 * Forgets all events and learns again. Call if the anchor failed, or if events are missing because
 * records were dropped or the library stopped journaling. If there was an answer, the next one
 * needs twice as many iterations.
 */
void levels_relearn(struct levels *l);

#endif
