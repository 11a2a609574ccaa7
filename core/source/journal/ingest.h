/*
 * Reads one process's journal, cuts its records into steps and passes each complete step on, as a
 * model if it is to be shown. Works the same on a journal that is still being written and on a
 * finished one. Holds only records of steps not passed on yet. One thread.
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
	uint32_t closed_seq; /* of the last call with GPU work in the steps passed on */
	bool is_capturing;
	VEC(struct rec_call) calls; /* of steps that are still open */
	size_t n_cut;		    /* the first n_cut calls belong to the step being closed */
};

/* The begin of a step. */
struct step_mark {
	uint64_t ticks, number;
	uint32_t generation; /* of the anchor that marked it, 0: none */
	uint8_t action;
	bool is_outside; /* no step begins: between cudaProfilerStop and Start, or after the last */
	/* the library detected the begin itself, so it was not learning during the step */
	bool by_library;
	bool is_slice; /* a time slice: no steps were detected */
	bool cuts;     /* the previous step has no end: its anchor stopped occurring */
};

/* From `ticks` on calls should have GPU records, or not. */
struct gpu_switch {
	uint64_t ticks;
	bool is_on;
	bool lacks_copies; /* copies have no GPU records */
	uint32_t first_id; /* struct rec_gpu_state */
	/* CUPTI stayed on: it recorded the work of calls since the last switch-off, which are not
	 * in the journal */
	bool resumes;
	bool resumes_whole; /* it recorded the work of all these calls */
};

struct ingest_counts {
	uint64_t records, calls, works, launches;
	uint64_t works_by_kind[REC_KINDS], calls_by_category[CAT_COUNT + 1];
	uint64_t dropped, gpu_lost; /* as the journal itself reports */
	uint64_t paired, calls_without_work, works_without_call;
	uint64_t late;	/* arrived after their step was passed on */
	uint64_t cut;	/* calls dropped from a recorded step because it had too many */
	uint64_t steps; /* step boundaries passed */
};

struct ingest;

/* Receives the results. Each function may be NULL. */
struct ingest_sink {
	void *context;
	void (*call)(void *context, struct ingest *f, uint32_t thread, const struct rec_call *call);
	void (*counted)(void *context, struct ingest *f, uint32_t thread,
			const struct rec_step *step);
	void (*triggered)(void *context, struct ingest *f, const struct rec_step *step);
	bool no_trace; /* the counter of launches in flight is not needed */
	/* A step to be shown. It is freed after the return unless the sink moved it away, leaving
	 * all zeros. */
	void (*step)(void *context, struct ingest *f, struct model_step *step);
};

struct ingest {
	struct reader reader;
	struct dict dict;
	struct run run; /* filled as records arrive */
	struct timebase time;
	struct ingest_sink sink;
	bool is_live, is_over;
	/* auto: the anchor occurred at the end of the last step too */
	bool last_is_whole;
	/* auto: the anchor occurs before its step's end, so the last step's has occurred */
	bool last_has_come;
	bool one_step; /* no steps were detected: everything is step 0 */
	bool knows_schedule, saw_outside;
	struct schedule schedule;
	VEC(struct ingest_thread) threads;
	struct map thread_of_slot;
	QUEUE(struct step_mark) marks; /* by ticks; [0] is the step under way */
	bool holds_steps;     /* live: steps may turn out to be wrong, so none is passed on */
	VEC(uint32_t) voided; /* generations of anchors that proved wrong */
	VEC(struct rec_gpu) works;
	/* work of the previous, unrecorded step that ran on after its end */
	VEC(struct rec_gpu) tail;
	/* Correlation ids around steps that are not in the journal, see note_first_own(). */
	bool was_silent;    /* such steps came, and no later work of a known call yet */
	bool has_first_own; /* `first_own` is valid */
	uint32_t first_own; /* lowest correlation id launched since such steps */
	VEC(struct rec_external) externals;
	VEC(struct rec_api) apis;
	VEC(struct rec_overhead) overheads;
	VEC(struct rec_pool) pools;
	VEC(struct rec_dropped) drops;
	struct range_log ranges;
	struct library_log libraries;
	/* sorted by ticks: the threads that wrote them are read in any order */
	VEC(struct gpu_switch) gpu_switches;
	uint64_t n_pending;		  /* calls held */
	uint64_t first_ticks, last_ticks; /* of any record */
	uint64_t read_until_ticks;	  /* everything written before this has been read */
	uint64_t flushed_ticks;		  /* of the newest GPU_FLUSHED */
	/* once read_until_ticks reaches this, all records of that flush have been read */
	uint64_t flushed_usable_ticks;
	uint64_t expected_of_ticks; /* the end of the step that `expected` was counted for */
	uint64_t expected;	    /* calls in it that should have GPU work */
	size_t works_at_last_try, works_at_group_try;
	uint64_t records_paired; /* counts.records when ingest_pair_by_order() ran last */
	struct ingest_gone {
		uint32_t id; /* highest correlation id that was paired; valid if is_any */
		uint32_t n;  /* unpaired ids above it */
		bool is_any;
	} gone; /* about work that was passed on */
	bool saw_gpu_on;
	uint32_t last_on_id; /* first_id of the last switch-on */
	uint32_t gpu_state;  /* enum gpu_state, the last */
	struct blocks blocks;
	struct once once;
	struct ingest_counts counts;
	uint64_t last_number; /* of the newest mark; UINT64_MAX: no step was marked */
	/* time slices among the step times, which hold slices only until there are steps */
	uint64_t n_slices;
	bool has_real_steps;
	/* generations of anchors with which training begins; earlier steps were not training */
	VEC(uint32_t) trainings;
	VEC(uint64_t) recorded; /* numbers of the first 4,096 steps passed on */
};

/* `live`: the process may still write. Copies `sink`. `f` must not move until ingest_close(). */
int ingest_open(struct ingest *f, const char *path, bool live, const struct ingest_sink *sink,
		struct err *e);
void ingest_close(struct ingest *f);

/* Frees what was learned about stacks: 100 MB and more, a framework's symbols. For when no more
 * stacks will be looked up. */
void ingest_forget_stacks(struct ingest *f);

/* Reads everything that is there now and passes complete steps on. */
void ingest_read(struct ingest *f);

/* The journal has no writer any more: reads the rest and passes the last step on too. `killed`: the
 * process ended without noting its end. */
void ingest_finish(struct ingest *f, bool killed);

/* Returns false for an allocation of impossible size, from a damaged journal. */
bool ingest_takes_call(const struct ingest *f, const struct rec_call *c);

/* Adds a mark that was found later, sorted in. Ignores those before the step under way. */
void ingest_add_mark(struct ingest *f, const struct step_mark *mark);

/* The anchor of this generation proved wrong: removes its marks and ignores further ones. Only
 * possible while holds_steps is set. */
void ingest_void(struct ingest *f, uint32_t generation);
/* Training begins with the first step that the anchor of this generation marked: step times are
 * collected anew from there. */
void ingest_train(struct ingest *f, uint32_t generation);
bool ingest_is_void(const struct ingest *f, uint32_t generation);

/*
 * Returns the number of steps that the process made, including the one under way. Of learned steps
 * only those in which the anchor occurred count: what follows the last step's end is not a step.
 */
uint64_t ingest_count_steps(const struct ingest *f);

/* Adds a step that was or will be shown to the list `recorded`. */
void ingest_note_recorded(struct ingest *f, uint64_t number);

/* Live: returns chunks that have been read to the library. Returns how many. */
uint32_t ingest_recycle(struct ingest *f);

/* The detector's name when time slices are recorded instead of steps. */
#define STEP_SLICES_NAME "slices"

/* Returns "auto", "optimizer", "kernel", ...: the word that PROF_STEP begins with. */
const char *step_detector_name(const struct journal_steps *s);

/* ---- Between ingest*.c ---- */

/* For other threads' calls that were under way at a step's boundary. */
enum { INGEST_GRACE_NS = 200000000 };

static inline bool ingest_action_is_recorded(uint8_t action)
{
	return action == SCHED_RECORD || action == SCHED_RECORD_AND_SAVE;
}

/* The part of a step being closed: each thread's first n_cut calls, and GPU work with its calls. */
struct ingest_cut {
	uint64_t begin_ticks, end_ticks;
	const struct step_mark *mark;
	bool is_last, is_killed;
	bool is_cut;		     /* the step has no end */
	struct pair_thread *threads; /* parallel to ingest.threads */
	size_t n_calls;
	struct rec_gpu *works;
	uint32_t *call_of; /* pair_answer or the call's number */
	size_t n_works;
};

/* ---- ingest_cut.c ---- */

/* Returns whether GPU timing was on when this call was made, so that its work should arrive. */
bool ingest_expects_work(const struct ingest *f, const struct rec_call *c);
bool ingest_expects(const void *ingest, const struct rec_call *call); /* the same, for pair.h */

/* Sets each thread's n_cut: its calls that begin before `end`. Returns their sum. */
size_t ingest_cut_calls(struct ingest *f, uint64_t end);
/* Returns these calls, parallel to ingest.threads. The caller frees the array. */
struct pair_thread *ingest_cut_threads(const struct ingest *f);
void ingest_match(const struct ingest *f, const struct pair_thread *threads, uint64_t begin,
		  uint64_t end, uint32_t *call_of);
/* Returns the seq of the thread's last call with GPU work among the first n_calls held, else among
 * those passed on. */
uint32_t ingest_last_seq(const struct ingest *f, const struct ingest_thread *t, size_t n_calls);

/* ingest_step.c: passes on the first step, which must have a successor, or the last one. */
void ingest_close_first(struct ingest *f);
void ingest_close_last(struct ingest *f, bool killed);
/* Drops calls in the middle of a long step, so that memory stays bounded. */
void ingest_drop_unwanted(struct ingest *f);

/* ingest_order.c: fills `externals` where CUPTI recorded no calls; to be called before anything
 * held is matched. The result stays until more is read, because it was found from more than what is
 * left after steps are passed on. */
void ingest_pair_by_order(struct ingest *f);
/* Updates `gone` for the step's work, which is about to be passed on. */
void ingest_note_gone(struct ingest *f, const struct ingest_cut *cut);

/* ingest_group.c: closes the first n steps; each of them must have a successor. */
void ingest_close_group(struct ingest *f, size_t n);

/* ingest_build.c: fills `m` (the caller frees it) from the cut and counts what was not paired. */
void ingest_build(struct ingest *f, const struct ingest_cut *cut, struct model_step *m);

/* ingest_blocks.c: the blocks of a framework's allocator. Segments are built before the step's own
 * calls take effect. */
void ingest_build_segments(struct ingest *f, struct model_step *m);
void ingest_build_blocks(struct ingest *f, const struct ingest_cut *cut, struct model_step *m,
			 bool is_recorded);

/* ingest_ready.c: passes on every complete step (`is_final`: with what is there); the last step
 * only if final. */
void ingest_close_steps(struct ingest *f, bool is_final, bool killed);

#endif
