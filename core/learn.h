/*
 * Steps of PROF_STEP=auto, on the reading side: feeds levels.h with what the library journals, tells the library the anchor
 * and the base (core/record.h, struct journal_steps), and finds where in a journal an anchor stands, for the steps that
 * were over before it was known. One per process, in the collector or a tool.
 */
#ifndef CORE_LEARN_H
#define CORE_LEARN_H

#include "core/follow.h"
#include "core/learn_amid.h"
#include "core/learn_frames.h"
#include "core/learn_function.h"
#include "core/levels.h"
#include "core/token.h"

struct learn_thread {
	uint32_t slot;
	struct token_window window;
	uint64_t blocked_ticks;
	uint64_t
		read_until_ticks; /* the end of its newest call: all that it did before has been read */
	bool has_synced;
	bool has_anchor; /* came by since the choice */
};

/* Where a launch began that completed the anchor, or its backup. */
struct learn_came {
	uint64_t ticks;
	bool is_backup;
};

struct learn {
	struct levels *levels;
	VEC(struct learn_thread) threads;
	struct map thread_of_slot;
	struct learn_frames frames;
	struct learn_function function; /* PROF_STEP=python: takes the place of `levels` */
	struct level_choice choice;
	bool has_choice;
	bool on_probation;   /* the choice may change: learning goes on */
	uint32_t generation; /* of the anchor told to the library, 0: none yet */
	uint32_t tried;	     /* the generation that steps are counted by on probation, 0: none */
	bool has_base;
	uint64_t n_before;	      /* steps that had ended when it was chosen */
	bool goes_on;		      /* an anchor before it counted steps that stand */
	VEC(struct learn_came) since; /* what has come since */
	VEC(struct rec_step) counted; /* STEP_COUNTED whose number is not known yet */
	bool is_lost;	 /* the library waits for another anchor, or for this one to come again */
	uint32_t n_lost; /* times that the library lost its anchor, of those answered */
	bool is_overdue; /* the anchor is; steps of another optimizer are looked for, till it comes */
	uint64_t
		overdue_ticks; /* as the library last said it, and the step that was under way then */
	uint64_t overdue_number;
	struct learn_amid amid;
	uint64_t n_since_anchor; /* launches and copies since the last anchor */
	/* where one was told that the library never counted by, and that does not come any more: looks for steps of an optimizer behind it */
	struct levels *seeker;
	uint64_t
		first_ticks; /* of the first launch since steps are looked for; 0: there was none */
};

void learn_start(struct learn *l);
void learn_stop(struct learn *l);

/* Whether calls are to be fed. */
bool learn_is_feeding(const struct learn *l);

/* A call that was read, in its thread's order. */
void learn_feed(struct learn *l, struct follow *f, uint32_t slot, const struct rec_call *c);

/* STEP_COUNTED was read: becomes a step of `f` once its number is known. */
void learn_count(struct learn *l, struct follow *f, const struct rec_step *step);

/* Before each pass, live: begins anew if the library has lost its anchor, or misses it. */
void learn_watch(struct learn *l, struct follow *f);

/* After each pass, live: thinks, and tells the library what it has found. True when the base was told just now. */
bool learn_tell(struct learn *l, struct follow *f);

/* The process has ended. False: all of it says that the steps which were counted on probation are none; they are void. */
bool learn_end_probation(struct learn *l, struct follow *f);

/* Afterwards: what all that was fed says. False: no step could be told. */
bool learn_conclude(struct learn *l, const struct follow *f);

/* ---- Where an anchor stands ---- */

/* STEP_COUNTED of the anchor's generation: its number is base + count. */
struct learn_anchor;
void learn_mark_counted(struct follow *f, const struct rec_step *step,
			const struct learn_anchor *anchor);

/* What a journal says about its steps, or `anchor` 0. */
struct learn_anchor {
	uint64_t anchor, backup;
	uint32_t backup_within;
	bool has_base;
	uint64_t base;
	int64_t n_missed; /* without a base: steps that ended before the first anchor; -1: it came before the first one's end */
	uint32_t generation;
	bool begins_training; /* none before it was an optimizer's */
	bool arms; /* nothing was armed live: what the schedule says is shown from what there is */
};

typedef VEC(struct learn_anchor) learn_anchors;

typedef VEC(uint32_t) learn_generations;

/* The anchors that the library counted in the journal at `path`, oldest first, but for those that turned out to be the wrong ones:
 * their generations. 0 or -errno. */
int learn_list(const char *path, learn_anchors *list, learn_generations *voided, struct err *e);

/*
 * Reads the journal at `path` once more and adds a mark to `f` for each step that the anchor tells and that the library did
 * not number itself. `before_ticks`: only those. The number of anchors found, or -errno.
 */
long learn_mark(struct follow *f, const char *path, const struct learn_anchor *anchor,
		uint64_t before_ticks, struct err *e);

#endif
