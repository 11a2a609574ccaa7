/*
 * Learns what a step is from launches alone. Owns the launches of one process as the collector
 * reads them from the journal. Finds the loops in them (levels), and chooses the loop that is the
 * step and the anchor that ends it: a trigram of launches (hash in core/runtime/token.h) that
 * occurs exactly once per step. Runs in one thread of the collector, never in the application. It
 * prefers no answer to a guess.
 *
 * A level is a set of trigrams that strictly alternate: between two occurrences of one there is
 * exactly one of each other. They belong to one loop. The step is the level with the most trigrams,
 * weighted by how alike its iterations are and by what can occur only once per step: an optimizer
 * phase, a copy, a synchronization.
 */
#ifndef CORE_LEVELS_H
#define CORE_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What an event may be besides a launch: bits of level_event.hints. All are optional; they improve
 * the choice.
 */
enum level_hint {
	LEVEL_OPTIMIZER = 1, /* an optimizer's kernel: kernel_is_optimizers() */
	LEVEL_H2D = 2,	     /* a copy to the device */
	LEVEL_D2H = 4,	     /* a copy to the host */
	LEVEL_COPY = 8,	     /* any copy, including the two above; not counted as work */
	LEVEL_GRAPH = 16,    /* a graph launch */
	LEVEL_SYNCED = 32,   /* its thread waited for the device since its previous event */
	/* Its kernel's name is known, so an optimizer would have been recognized. */
	LEVEL_NAMED = 64,
	/* The same by Python frames, whatever the kernel's name; set together with LEVEL_NAMED. */
	LEVEL_FRAMED = 128,
	/*
	 * By the frames, the program is before the optimizer's last launch again: its loop began
	 * another iteration.
	 */
	LEVEL_BEFORE_OPTIMIZER = 256,
	/*
	 * By the frames, the program is still after that launch: its loop has not begun another
	 * iteration.
	 */
	LEVEL_AFTER_OPTIMIZER = 512,
	/*
	 * By the frames, no optimizer's step is active, or one that evaluates its closure at the
	 * first of its places in the code.
	 */
	LEVEL_NO_REEVALUATION = 1024,
	/*
	 * By the frames, an optimizer's step is active and evaluates its closure at another place:
	 * again.
	 */
	LEVEL_REEVALUATION = 2048,
};

/*
 * One call that the library pushes into its thread's token window (preload/steps.h): a launch,
 * graph launch or copy.
 */
struct level_event {
	uint64_t token;	 /* as core/runtime/token.h computes it */
	uint64_t kernel; /* its function, whatever the grid; 0: unknown, or not a kernel */
	uint64_t begin_ns, end_ns;
	/*
	 * Part of the time since the thread's previous event that was spent blocked inside other
	 * calls.
	 */
	uint64_t blocked_ns;
	uint32_t hints; /* enum level_hint */
};

/* How the boundary within the iteration was found. */
enum level_boundary {
	LEVEL_BY_OPTIMIZER, /* the optimizer's last launch */
	LEVEL_BY_GAP,	    /* the host's longest pause; copies decide between similar ones */
	LEVEL_BY_FUNCTION,  /* a function's first launch (core/steps/learn_function.h) */
};

enum level_change {
	LEVEL_UNCHANGED,
	/* The same steps, but they end at another launch, or there were more of them at first. */
	LEVEL_MOVED,
	LEVEL_CORRECTED, /* other steps */
};

/* What an answer's confidence is computed from (core/steps/levels_sure.c). */
struct level_signs {
	uint32_t iterations;
	/*
	 * coverage: share of the stretch of events that the iterations fill; alike: likeness of an
	 * iteration to the next one.
	 */
	double coverage, alike;
	double unusual;	    /* share of iterations that are longer than most */
	bool is_read;	    /* its iterations read back, wait, or launch graphs */
	bool is_noisy;	    /* launches vary between its iterations */
	bool is_latter;	    /* no loop fills all events; this one fills a latter part of them */
	bool has_optimizer; /* by name, by frames, or as a tail after the backward pass */
	/* Only as a tail, although an optimizer's kernels would have been recognized. */
	bool optimizer_unnamed;
	bool is_enough; /* enough iterations for a final answer */
};

struct level_choice {
	uint64_t anchor;	/* trigram hash; the step ends after the launch that completes it */
	uint64_t backup;	/* stands in for the anchor (core/runtime/iteration.h); 0: none */
	bool backup_is_last;	/* occurred after the last anchor, as far as was fed */
	uint32_t backup_within; /* launches of `thread` from the backup to the anchor */
	uint32_t n_early_backups; /* backups that occurred before the first step */
	uint32_t thread;	  /* launches the anchor */
	uint32_t apart;		  /* launches of `thread`; see struct iteration_anchors */
	/*
	 * token_pair_hash() of a step's last two calls, if the anchor's last ones belong to the
	 * next step; else 0.
	 */
	uint64_t end;
	uint32_t calls_per_step; /* median, events of all threads */
	/*
	 * Steps that have ended since the first event fed: occurrences of the anchor, or of the
	 * backup in its place, plus n_missed.
	 */
	uint64_t count;
	/*
	 * Steps that ended without an anchor: the first one, which may differ; -1 if the anchor
	 * occurred before the first step had ended.
	 */
	int64_t n_missed;
	double confidence; /* 0 to 1: share of answers with this confidence that are right */
	struct level_signs signs;
	enum level_boundary boundary;
	bool is_near_end;    /* as far as is known, nothing else ends the step at another place */
	bool is_provisional; /* may be replaced by another choice: learning continues */
	/* Changes of the answer while it was provisional, and the last of them: */
	uint32_t n_changes;
	enum level_change change;
};

/* Returns the boundary's name for reports. */
const char *level_boundary_name(enum level_boundary boundary);

struct levels;

/* levels_new() returns NULL if memory is exhausted. levels_free(NULL) is allowed. */
struct levels *levels_new(void);
void levels_free(struct levels *l);

/* Sets whether only steps that an optimizer ends are accepted. */
void levels_want_optimizer(struct levels *l, bool wants);

/*
 * Takes the next event of `thread`: in order per thread, threads in any order. Leave out no call
 * that the library pushes into its window, because anchors are trigrams of neighbouring calls.
 * Returns 0 or -ENOMEM.
 */
int levels_feed(struct levels *l, uint32_t thread, const struct level_event *event);

/*
 * Returns whether the step is known, and describes it in `out`. Cheap to call after every batch: it
 * searches only when a quarter more events have come. An answer comes early and is provisional.
 * Feed on, and it is either confirmed with the same anchor or changed (n_changes), three times at
 * most; the last change only moves the boundary (LEVEL_MOVED). A final choice stays the same, apart
 * from a growing count, until levels_relearn().
 */
bool levels_vote(struct levels *l, struct level_choice *out);

/*
 * The same once the stream has ended. As nothing more will come, a level need not win a second
 * vote. A provisional answer is dropped if the last iterations showed that it is only part of the
 * step.
 */
bool levels_conclude(struct levels *l, struct level_choice *out);

/* Makes the provisional answer final. */
void levels_confirm(struct levels *l);

/*
 * Drops the provisional answer, because its anchor no longer occurs. Keeps the events; the next
 * answer is final.
 */
void levels_withdraw(struct levels *l);

/*
 * Call when the anchor failed, or when events are missing (dropped records, a library that stopped
 * journaling). Forgets all events and learns again, and demands twice as many iterations as the
 * last time if there was an answer.
 */
void levels_relearn(struct levels *l);

#endif
