/*
 * Learns what a step is from the launches alone. Owns the launches of one process as the collector
 * reads them from the journal, finds the loops in them (levels), and chooses the loop that is the
 * step and the anchor that ends it: a trigram of launches, as core/runtime/token.h hashes it, that comes
 * exactly once per step. Runs in the collector, one thread; never in the application. It abstains
 * rather than guesses.
 *
 * What makes a level: trigrams that strictly alternate (between two of one there is exactly one of
 * each other) belong to one loop. The step is the level with most trigrams, weighted by how alike
 * its iterations are, and by what can only happen once per step: an optimizer phase, a copy, a
 * synchronisation.
 */
#ifndef CORE_LEVELS_H
#define CORE_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

/* What an event may be, besides a launch: bits of level_event.hints. All are optional; they sharpen
 * the choice. */
enum level_hint {
	LEVEL_OPTIMIZER = 1, /* an optimizer's kernel: kernel_is_optimizers() */
	LEVEL_H2D = 2,	     /* a copy to the device */
	LEVEL_D2H = 4,	     /* a copy to the host */
	LEVEL_COPY = 8,	     /* no work of its own: any copy; set beside the two above */
	LEVEL_GRAPH = 16,    /* a graph launch */
	LEVEL_SYNCED = 32,   /* its thread waited for the device since its previous event */
	LEVEL_NAMED = 64,    /* its kernel's name is known: an optimizer's would have been told */
	LEVEL_FRAMED =
		128, /* ...and, by Python's frames, whatever its name; set beside LEVEL_NAMED */
	LEVEL_BEFORE_OPTIMIZER =
		256, /* by these the program stands before the optimizer's last launch again: its loop went round */
	LEVEL_AFTER_OPTIMIZER = 512, /* ...and behind it still: it did not yet */
	LEVEL_NO_REEVALUATION =
		1024, /* by Python's frames no optimizer's step is under way, or one that evaluates its closure where it does so first */
	LEVEL_REEVALUATION =
		2048, /* ...one is, and evaluates its closure in another place: not for the first time */
};

/* One call that the library pushes into its thread's token window (preload/steps.h): a launch,
 * graph launch or copy. */
struct level_event {
	uint64_t token; /* as core/runtime/token.h computes it */
	uint64_t
		kernel; /* what is launched, of whatever size: its function; 0: not known, or no kernel */
	uint64_t begin_ns, end_ns;
	/* Of the time since its thread's previous event: spent waiting inside other calls. */
	uint64_t blocked_ns;
	uint32_t hints; /* enum level_hint */
};

/* How the boundary within the iteration was found. */
enum level_boundary {
	LEVEL_BY_OPTIMIZER, /* the optimizer's last launch */
	LEVEL_BY_GAP,	    /* the host's longest pause; copies decide between like ones */
	LEVEL_BY_FUNCTION,  /* a function's first launch (core/steps/learn_function.h) */
};

enum level_change {
	LEVEL_UNCHANGED,
	LEVEL_MOVED, /* the same steps, which end at another launch, or of which there were more at first */
	LEVEL_CORRECTED, /* other steps */
};

/* What an answer's confidence is made of (core/steps/levels_sure.c). */
struct level_signs {
	uint32_t iterations;
	double coverage,
		alike;	    /* of the stretch, by the iterations; of a iteration with the next */
	double unusual;	    /* share of the iterations that are longer than most */
	bool is_read;	    /* its iterations read back, wait, or launch graphs */
	bool is_noisy;	    /* launches come and go in its iterations */
	bool is_latter;	    /* no loop fills all that came, and this one a latter part */
	bool has_optimizer; /* by name, by frames, or as a tail behind the backward pass */
	bool optimizer_unnamed; /* as a tail, though an optimizer's kernels would have been told */
	bool is_enough;		/* turns, for it to stay */
};

struct level_choice {
	uint64_t anchor;     /* trigram hash; the step ends after the launch that completes it */
	uint64_t backup;     /* another one, that stands in for it (core/runtime/turn.h); 0: none */
	bool backup_is_last; /* it came after the last anchor, as far as was fed */
	uint32_t backup_within;	  /* launches of `thread` from there to the anchor */
	uint32_t n_early_backups; /* of it came before the first step */
	uint32_t thread;	  /* that launches it */
	uint32_t apart;		  /* of that thread: struct iteration_anchors */
	uint64_t
		end; /* token_pair_hash() of a step's last two calls, if the anchor's last ones are the next step's; else 0 */
	uint32_t calls_per_step; /* events of all threads, median */
	uint64_t
		count; /* steps that have ended so far: how often the anchor has come, or the backup instead, from the first event fed, and: */
	int64_t n_missed; /* steps that ended without it: the first one, which may differ; -1: it has come before the first one's end */
	double confidence; /* 0 to 1: of answers with this one so many are right */
	struct level_signs signs;
	enum level_boundary boundary;
	bool is_near_end;    /* what ends a step ends it there, as far as is known */
	bool is_provisional; /* it may still turn out to be another: learning goes on */
	uint32_t n_changes;  /* of the answer while it was provisional, and the last of them: */
	enum level_change change;
};

/* In words. */
const char *level_boundary_name(enum level_boundary boundary);

struct levels;

/* NULL: out of memory. levels_free(NULL) is allowed. */
struct levels *levels_new(void);
void levels_free(struct levels *l);

/* Whether only a step that an optimizer ends will do. */
void levels_want_optimizer(struct levels *l, bool wants);

/*
 * Takes the next event of `thread`: in order per thread, threads in any order. Leave out no call
 * that the library pushes into its window: anchors are trigrams of neighbours. 0 or -ENOMEM.
 */
int levels_feed(struct levels *l, uint32_t thread, const struct level_event *event);

/*
 * Whether the step is known; if so `out` says what it is. Cheap to call after every batch: it
 * thinks only when a quarter more events have come. An answer comes early, provisional: feed on, and it is either confirmed, with
 * the same anchor, or changed (n_changes), three times at most, the last time only in where it ends (LEVEL_MOVED). A choice that is not provisional stays the same (count
 * grows) until levels_relearn().
 */
bool levels_vote(struct levels *l, struct level_choice *out);

/* The same once the stream has ended: with nothing more to wait for, a level need not win a second
 * time; an answer provisional of which the last iterations showed that it is only a part of the step is none. */
bool levels_conclude(struct levels *l, struct level_choice *out);

/* The answer provisional stands, whatever there may be to come. */
void levels_confirm(struct levels *l);

/* The answer provisional was wrong, as its anchor does not come any more. What was fed stays, and the next answer is final. */
void levels_withdraw(struct levels *l);

/*
 * The anchor failed: forget all events and learn again, from twice as many iterations as the last time.
 * Also for a hole in the stream (dropped records, a library that had stopped journaling).
 */
void levels_relearn(struct levels *l);

#endif
