/*
 * Steps of PROF_STEP=auto, on the reading side: feeds levels.h with what the library journals, and tells the library the
 * anchor and the base (core/runtime/record.h, struct journal_steps). One per process, in the collector or a tool.
 */
#ifndef CORE_LEARN_H
#define CORE_LEARN_H

#include "core/model/ingest.h"
#include "core/runtime/token.h"
#include "core/steps/anchors.h"
#include "core/steps/learn_frames.h"
#include "core/steps/learn_function.h"
#include "core/steps/learn_midstep.h"
#include "core/steps/levels.h"

struct learn_thread {
	uint32_t slot;
	struct token_window window;
	uint32_t n; /* launches and copies */
	uint64_t blocked_ticks;
	uint64_t
		read_until_ticks; /* the end of its newest call: all that it did before has been read */
	uint64_t optimizer;	  /* its last launch that was an optimizer's, by trigram; 0: none */
	bool has_synced;
	bool is_within;	 /* its newest call of those counted was a read of a module's own */
	bool has_anchor; /* came by since the choice */
};

struct learn {
	struct levels *levels;
	VEC(struct learn_thread) threads;
	struct map thread_of_slot;
	struct learn_frames frames;
	struct learn_function function; /* PROF_STEP=python: takes the place of `levels` */
	struct level_choice choice;
	bool has_choice;
	bool is_provisional; /* the choice may change: learning goes on */
	uint32_t generation; /* of the anchor told to the library, 0: none yet */
	uint32_t
		provisional_generation; /* the generation that steps are counted by provisional, 0: none */
	bool has_base;
	uint64_t n_ended_before;      /* steps that had ended when it was chosen */
	bool continues_numbers;	      /* an anchor before it counted steps that stand */
	anchor_hits hits;	      /* what has come since */
	VEC(struct rec_step) counted; /* STEP_COUNTED whose number is not known yet */
	bool is_lost;	 /* the library waits for another anchor, or for this one to come again */
	uint32_t n_lost; /* times that the library lost its anchor, of those answered */
	bool is_overdue; /* the anchor is; steps of another optimizer are looked for, till it comes */
	uint64_t
		overdue_ticks; /* as the library last said it, and the step that was under way then */
	uint64_t overdue_number;
	struct learn_midstep midstep;
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
void learn_feed(struct learn *l, struct ingest *f, uint32_t slot, const struct rec_call *c);

/* STEP_COUNTED was read: becomes a step of `f` once its number is known. */
void learn_count(struct learn *l, struct ingest *f, const struct rec_step *step);

/* Before each pass, live: begins anew if the library has lost its anchor, or misses it. */
void learn_watch(struct learn *l, struct ingest *f);

/* After each pass, live: thinks, and tells the library what it has found. True when the base was told just now. */
bool learn_tell(struct learn *l, struct ingest *f);

/* The process has ended. False: all of it says that the steps which were counted provisional are none; they are void. */
bool learn_end_provisional(struct learn *l, struct ingest *f);

/* Afterwards: what all that was fed says. False: no step could be told. */
bool learn_conclude(struct learn *l, const struct ingest *f);

#endif
