/*
 * Follows one process's journal: takes its records in, cuts them into steps, and hands each step that is over and complete on,
 * as a model if it is one to be shown. Works alike on a journal that is still written and on one read afterwards, and
 * holds only what belongs to steps not handed on yet. One thread.
 */
#ifndef CORE_INGEST_H
#define CORE_INGEST_H

#include "core/model/model.h"
#include "core/model/run.h"
#include "core/runtime/schedule.h"
#include "core/source/journal/blocks.h"
#include "core/source/journal/dict.h"
#include "core/source/journal/library_log.h"
#include "core/source/journal/once.h"
#include "core/source/journal/pair.h"
#include "core/source/journal/range_log.h"
#include "core/source/journal/reader.h"
#include "core/source/journal/timebase.h"

#include <stdbool.h>

struct ingest_thread {
	uint32_t slot;
	uint32_t closed_seq;
	bool is_capturing;
	VEC(struct rec_call) calls; /* of steps that are still open */
	size_t n_cut;		    /* of them, those of the step that is being closed */
};

/* A step's begin. */
struct step_mark {
	uint64_t ticks, number;
	uint32_t generation; /* of the anchor that told it, 0: none did */
	uint8_t action;
	bool is_outside; /* no step: between cudaProfilerStop and Start */
	bool is_own;	 /* the library began it knowing what it is: nothing was learned in it */
	bool is_slice;	 /* of time: no step was known */
	bool cuts;	 /* the step before it did not end: its anchor stopped coming */
};

/* From `ticks` on calls are to have GPU records, or not. */
struct gpu_switch {
	uint64_t ticks;
	bool is_on;
	bool lacks_copies; /* these have none */
	uint32_t first_id; /* struct rec_gpu_state */
	bool is_anew; /* on again, with ids that go on: CUPTI has work of calls in between, which were not recorded */
	bool joins; /* of all of them */
};

struct ingest_counts {
	uint64_t records, calls, works, launches;
	uint64_t works_by_kind[REC_KINDS], calls_by_category[CAT_COUNT + 1];
	uint64_t dropped, gpu_lost; /* said by the stream itself */
	uint64_t paired, calls_without_work, works_without_call;
	uint64_t late;	/* came after their step had been handed on */
	uint64_t cut;	/* calls that one step had too many of to be held */
	uint64_t steps; /* boundaries passed */
};

struct ingest;

/* What is done with what comes out. Each may be NULL. */
struct ingest_sink {
	void *context;
	void (*call)(void *context, struct ingest *f, uint32_t thread, const struct rec_call *call);
	void (*counted)(void *context, struct ingest *f, uint32_t thread,
			const struct rec_step *step);
	/* STEP_TRIGGERED: something asked for steps. */
	void (*triggered)(void *context, struct ingest *f, const struct rec_step *step);
	bool draws_nothing; /* no counter of launches in flight is needed */
	/* A step to be shown; freed after the return, unless it was taken: then all zeros are left. */
	void (*step)(void *context, struct ingest *f, struct model_step *step);
};

struct ingest {
	struct reader reader;
	struct dict dict;
	struct run run; /* filled as records come */
	struct timebase time;
	struct ingest_sink sink;
	bool is_live, is_over;
	bool last_is_whole; /* auto: the anchor came at the end of the last step too */
	bool last_has_come; /* auto: anchors come before their steps' ends, so that of the last one has */
	bool one_step; /* everything is step 0: nothing else could be told apart */
	bool knows_schedule, saw_outside;
	struct schedule schedule;
	VEC(struct ingest_thread) threads;
	struct map thread_of_slot;
	QUEUE(struct step_mark) marks; /* by ticks; [0] is the step under way */
	bool holds_steps;     /* live: they may turn out to be none, so none is handed on */
	VEC(uint32_t) voided; /* generations of anchors that told what were no steps */
	VEC(struct rec_gpu) works;
	VEC(struct rec_gpu) tail; /* of the step before, not recorded: what went on after its end */
	bool was_silent;    /* steps were not journaled, and no work launched since is known */
	bool has_first_own; /* ...or some is, and the first has: */
	uint32_t first_own; /* this number of CUPTI's */
	VEC(struct rec_external) externals;
	VEC(struct rec_api) apis;
	VEC(struct rec_overhead) overheads;
	VEC(struct rec_pool) pools;
	VEC(struct rec_dropped) drops;
	struct range_log ranges;
	struct library_log libraries;
	VEC(struct gpu_switch)
	gpu_switches;	    /* by ticks: the threads that told them are read in any order */
	uint64_t n_pending; /* calls held */
	uint64_t first_ticks, last_ticks; /* of any record */
	uint64_t read_until_ticks;	  /* all that was written before this has been read */
	uint64_t flushed_ticks,
		flushed_usable_ticks; /* newest GPU_FLUSHED; from when on it may be believed */
	uint64_t expected_of_ticks;   /* the end of the step that `expected` was counted for */
	uint64_t expected;	      /* calls in it that GPU work is awaited for */
	size_t works_at_last_try, works_at_group_try;
	uint64_t records_paired; /* by order: nothing has come since so many */
	struct ingest_gone {
		uint32_t id; /* the highest that had its call, if any had; above it were so many: */
		uint32_t n;
		bool is_any;
	} gone; /* work that was let go of */
	bool saw_gpu_on;
	uint32_t last_on_id; /* first_id of the last switch that was on */
	uint32_t gpu_state;  /* enum gpu_state, the last */
	struct blocks blocks;
	struct once once;
	struct ingest_counts counts;
	uint64_t last_number; /* of the newest mark, UINT64_MAX: no step was told */
	uint64_t n_slices; /* among the lengths, which are of slices only until there are steps */
	bool has_real_steps;
	VEC(uint32_t)
	trainings; /* generations of anchors with which a training begins: what came before was none */
	VEC(uint64_t) recorded; /* numbers handed on; the first 4,096 */
};

/* `live`: the process may still write. The sink is copied. `f` stays where it is until ingest_close. */
int ingest_open(struct ingest *f, const char *path, bool live, const struct ingest_sink *sink,
		struct err *e);
void ingest_close(struct ingest *f);

/* What is known of stacks takes 100 MB and more (a framework's symbols): gives it back once nothing asks any more. */
void ingest_forget_stacks(struct ingest *f);

/* Takes in everything that is there now and hands closed steps on. */
void ingest_read(struct ingest *f);

/* Nobody writes any more: takes in the rest and hands on the last step too. `killed`: it ended without saying so. */
void ingest_finish(struct ingest *f, bool killed);

/* Returns false for an allocation of impossible size, from a damaged journal. */
bool ingest_takes_call(const struct ingest *f, const struct rec_call *c);

/* Marks that were found out afterwards. Sorted in; those before the step under way are ignored. */
void ingest_add_mark(struct ingest *f, const struct step_mark *mark);

/* What the anchor of this generation told is void: its marks go, those to come are ignored. While it may come to this, holds_steps is set. */
void ingest_void(struct ingest *f, uint32_t generation);
/* A training begins with the first step that the anchor of this generation told: figures are of it from then on. */
void ingest_train(struct ingest *f, uint32_t generation);
bool ingest_is_void(const struct ingest *f, uint32_t generation);

/*
 * Steps that the process made, the one under way included; of learned ones those that the anchor came in: what comes after the
 * last step's end is none.
 */
uint64_t ingest_count_steps(const struct ingest *f);

/* A step was shown or is going to be, for the list of them. */
void ingest_note_recorded(struct ingest *f, uint64_t number);

/* Live: gives chunks that have been read back to the library. How many. */
uint32_t ingest_recycle(struct ingest *f);

/* Detector of steps where slices of time stand in for them. */
#define STEP_SLICES_NAME "slices"

/* Returns "auto", "optimizer", "kernel", ...: the word that PROF_STEP begins with. */
const char *step_detector_name(const struct journal_steps *s);

/* ---- Between ingest*.c ---- */

enum {
	INGEST_GRACE_NS = 200000000
}; /* calls of other threads that were under way at the boundary */

static inline bool ingest_action_is_recorded(uint8_t action)
{
	return action == SCHED_RECORD || action == SCHED_RECORD_AND_SAVE;
}

/* The part of a step that is at hand: each thread's first n_cut calls, and these works with their callers. */
struct ingest_cut {
	uint64_t begin_ticks, end_ticks;
	const struct step_mark *mark;
	bool is_last, is_killed;
	bool is_cut;		     /* its end never came */
	struct pair_thread *threads; /* parallel to follow's */
	size_t n_calls;
	struct rec_gpu *works;
	uint32_t *call_of; /* pair_answer or the call's number */
	size_t n_works;
};

/* ---- ingest_cut.c ---- */

/* Whether GPU timing was on when this call was made, so that work of it should come. */
bool ingest_expects_work(const struct ingest *f, const struct rec_call *c);
bool ingest_expects(const void *ingest, const struct rec_call *call); /* the same, for pair.h */

/* Marks each thread's calls that begin before `end` (n_cut); how many. */
size_t ingest_cut_calls(struct ingest *f, uint64_t end);
/* Of these calls, parallel to follow's threads; to be freed. */
struct pair_thread *ingest_cut_threads(const struct ingest *f);
void ingest_match(const struct ingest *f, const struct pair_thread *threads, uint64_t begin,
		  uint64_t end, uint32_t *call_of);
/* Of the thread's last call with GPU work among the first n_calls held or those that are gone. */
uint32_t ingest_last_seq(const struct ingest *f, const struct ingest_thread *t, size_t n_calls);

/* ingest_step.c: hands the first step on, which has a successor; the last one. */
void ingest_close_first(struct ingest *f);
void ingest_close_last(struct ingest *f, bool killed);
/* Drops calls in the middle of a step: memory stays bounded whatever the application does. */
void ingest_drop_unwanted(struct ingest *f);

/* ingest_order.c: which call each id is, where CUPTI recorded none of them; before anything is matched to what is held now. What was
 * found stands until more is read: it was found of more than what is left. */
void ingest_pair_by_order(struct ingest *f);
/* Of a step's works, when they are let go of. */
void ingest_note_gone(struct ingest *f, const struct ingest_cut *cut);

/* ingest_group.c: closes the first n steps; each of them has a successor. */
void ingest_close_group(struct ingest *f, size_t n);

/* ingest_build.c: fills `m` (to be freed) from what was cut; counts what could not be paired. */
void ingest_build(struct ingest *f, const struct ingest_cut *cut, struct model_step *m);

/* ingest_blocks.c: the blocks of a framework's allocator; the segments as they are before the step's own calls took effect. */
void ingest_build_segments(struct ingest *f, struct model_step *m);
void ingest_build_blocks(struct ingest *f, const struct ingest_cut *cut, struct model_step *m,
			 bool is_recorded);

/* ingest_ready.c: hands on every step that is over and complete (`is_final`: whatever is there), the last one only if final. */
void ingest_close_steps(struct ingest *f, bool is_final, bool killed);

#endif
