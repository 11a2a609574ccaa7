/*
 * Reads one process's journal and cuts its records into steps. Passes each complete step on, as a
 * model if the step is recorded. Works on a journal that is still being written and on a finished
 * one. Holds only the records of steps that have not been passed on. One thread.
 */
#ifndef CORE_INGEST_H
#define CORE_INGEST_H

#include "core/model/model.h"
#include "core/model/run.h"
#include "core/runtime/schedule.h"
#include "core/source/journal/blocks.h"
#include "core/source/journal/dict.h"
#include "core/source/journal/graph_table.h"
#include "core/source/journal/library_log.h"
#include "core/source/journal/once.h"
#include "core/source/journal/pair.h"
#include "core/source/journal/range_log.h"
#include "core/source/journal/reader.h"
#include "core/source/journal/timebase.h"

#include <stdbool.h>

struct ingest_thread {
	uint32_t slot;
	uint32_t closed_seq; /* seq of the last call with GPU work in the steps passed on */
	bool is_capturing;
	/* calls of the steps not passed on yet; the `kind` of a call that was captured into a graph
	 * is REC_NODE */
	VEC(struct rec_call) calls;
	size_t n_cut; /* the first n_cut calls belong to the step being closed */
	/*
	 * Work that this thread delivered, from its newest chunk: see ingest_hold.c. Live, the
	 * first n_read_before were read before this pass.
	 */
	VEC(struct rec_gpu) held;
	size_t n_read_before;
};

/* The start of a step, or of a period outside all steps. */
struct step_mark {
	uint64_t ticks, number;
	uint32_t generation; /* generation of the anchor that marked it, 0: no anchor did */
	uint8_t action;
	/* no step begins here: after cudaProfilerStop(), or after the last step's end */
	bool is_outside;
	/* The library detected this begin itself, so it was not learning during the step. */
	bool by_library;
	bool is_slice; /* the step is a time slice, because no steps were detected */
	bool cuts;     /* the step before has no end, because its anchor stopped occurring */
};

/* Whether calls from `ticks` on should have GPU records. */
struct gpu_switch {
	uint64_t ticks;
	bool is_on;
	bool lacks_copies; /* copies have no GPU records although is_on is set */
	bool is_yielded;   /* is_on is not set, because the application's own profiler has CUPTI */
	uint32_t first_id; /* see struct rec_gpu_state */
	/*
	 * CUPTI stayed on since the last switch-off. It recorded the work of the calls made in
	 * between, which are not in the journal.
	 */
	bool resumes;
	bool resumes_whole; /* CUPTI recorded the work of all calls made in between */
};

/* The recording that begins with the first CUDA call (preload/opening.h). */
struct ingest_opening {
	bool is_any;	     /* also if the schedule records every step */
	uint64_t end_ticks;  /* 0: not over */
	uint64_t n_calls;    /* calls held when it ended */
	uint64_t first_kept; /* earlier steps of the opening are not passed on */
	/* these steps of the opening get traces, as if the schedule wanted them */
	uint64_t first_traced, n_traced;
	/* calls before this time were dropped, because no step was detected for long */
	uint64_t dropped_ticks;
	VEC(float) kept_ms; /* lengths of the steps passed on */
	bool is_disputed;   /* the steps may be the wrong ones, so no number of them is enough */
};

struct ingest_counts {
	uint64_t records, calls, works, launches;
	uint64_t works_by_kind[REC_KINDS], calls_by_category[CAT_COUNT + 1];
	uint64_t dropped, gpu_lost; /* losses that the journal itself reports */
	uint64_t paired, calls_without_work, works_without_call;
	uint64_t late;	    /* GPU work that arrived after its step was passed on */
	uint64_t cut;	    /* calls dropped from a recorded step because it had too many */
	uint64_t steps;	    /* step boundaries passed */
	uint64_t wrong_ids; /* GPU work of graphs with the id of an earlier launch */
};

struct ingest;

/* Receives the results of an ingest. Each function may be NULL. */
struct ingest_sink {
	void *context;
	void (*call)(void *context, struct ingest *f, uint32_t thread, const struct rec_call *call);
	void (*thread)(void *context, uint32_t slot, const struct rec_thread *record);
	/* `record`: a struct rec_node or rec_graph */
	void (*graph)(void *context, uint32_t slot, const struct rec_head *record);
	void (*counted)(void *context, struct ingest *f, uint32_t thread,
			const struct rec_step *step);
	void (*triggered)(void *context, struct ingest *f, const struct rec_step *step);
	bool no_trace; /* do not compute the counter of launches in flight */
	/*
	 * Takes a recorded step. The ingest frees it after the return. A sink that keeps the step
	 * moves it away and leaves all zeros.
	 */
	void (*step)(void *context, struct ingest *f, struct model_step *step);
};

struct ingest {
	struct reader reader;
	struct dict dict;
	struct run run; /* filled while records arrive */
	struct timebase time;
	struct ingest_sink sink;
	bool is_live, is_over, is_killed;
	/* PROF_STEP=auto: the last step's anchor has occurred, so the last step is complete */
	bool last_is_whole;
	/*
	 * PROF_STEP=auto: the anchor occurs before its step's end, so the last step's anchor has
	 * occurred
	 */
	bool last_has_come;
	bool last_was_recorded;	       /* the last step passed on was a recorded step */
	uint64_t recorded_until_ticks; /* end of the last recorded step passed on */
	bool one_step;		       /* no steps were detected: the whole run is step 0 */
	/* of a run without steps: its first and last call or GPU work; 0: none */
	uint64_t unit_begin_ns, unit_end_ns;
	bool is_marked; /* all steps are marked already: the library's marks are ignored */
	bool knows_schedule, saw_outside;
	/* the journal's first records were overwritten: see note_wait() in ingest.c */
	bool is_rest;
	struct schedule schedule;
	struct ingest_opening opening;
	VEC(struct ingest_thread) threads;
	struct map thread_of_slot;
	QUEUE(struct step_mark) marks; /* sorted by ticks; marks[0] began the step under way */
	bool holds_steps; /* live: the steps so far may prove wrong, so none is passed on yet */
	bool holds_unnumbered; /* live: steps were counted whose numbers are not known yet */
	VEC(uint32_t) voided;  /* generations of anchors that proved wrong */
	uint32_t voided_until; /* all generations up to this one are void as well */
	VEC(struct rec_gpu) works;
	VEC(uint32_t) holders; /* indexes of the threads that hold work: see ingest_hold.c */
	/* work of the previous step, which was not recorded, that ended after that step's end */
	VEC(struct rec_gpu) tail;
	/*
	 * For note_first_own(), which finds the correlation ids of steps that are not in the
	 * journal.
	 */
	/* a step that is not in the journal ended, and no work paired with a call has come since */
	bool was_silent;
	bool has_first_own; /* `first_own` is valid */
	uint32_t first_own; /* lowest correlation id of the work launched since that step */
	VEC(struct rec_external) externals;
	VEC(struct rec_api) apis;
	VEC(struct rec_overhead) overheads;
	VEC(struct rec_pool) pools;
	VEC(struct rec_sample) samples;
	VEC(struct rec_cpu_wait) cpu_waits;
	VEC(struct rec_dropped) drops;
	/* GPU work that the full journal dropped, as far as it follows `gone`; see pair.h */
	VEC(struct pair_dropped) dropped_works;
	/* calls held whose work is known to be dropped; `thread`: index in `threads` */
	pair_withouts without;
	bool was_full; /* GPU work was dropped before */
	struct range_log ranges;
	struct library_log libraries;
	VEC(struct rec_library) shapes; /* of captured products, by number; `kind` 0: unknown */
	struct graph_table graphs;
	/*
	 * Sorted by ticks. The journal does not keep this order, because it is read thread by
	 * thread.
	 */
	VEC(struct gpu_switch) gpu_switches;
	uint64_t n_pending;		  /* number of calls held in `threads` */
	uint64_t first_ticks, last_ticks; /* lowest and highest time of all records read */
	uint64_t read_until_ticks;	  /* everything written before this time has been read */
	bool is_in_pass; /* live: the pass that began at pass_ticks has not ended */
	uint64_t pass_ticks;
	uint64_t flushed_ticks; /* ticks of the newest GPU_FLUSHED */
	/*
	 * When read_until_ticks reaches this time, all records of the newest flush have been read.
	 */
	uint64_t flushed_usable_ticks;
	uint64_t expected_of_ticks; /* end of the step for which `expected` was counted */
	uint64_t expected;	    /* calls of that step that should have GPU work */
	size_t works_at_last_try, works_at_group_try;
	uint64_t records_marked; /* the same for the search for wrong ids */
	uint64_t records_paired; /* value of counts.records when ingest_pair_by_order() last ran */
	struct ingest_gone {
		uint32_t id; /* highest correlation id that was paired; valid if is_any */
		uint32_t n;  /* number of unpaired correlation ids above it */
		/* number of calls after that of `id` that should have GPU work, recorded or not */
		uint64_t n_calls;
		bool is_any;
	} gone; /* describes the work that was passed on */
	bool saw_gpu_on;
	uint32_t last_on_id; /* first_id of the last switch-on */
	uint32_t gpu_state;  /* enum gpu_state of the last switch */
	struct blocks blocks;
	struct once once;
	struct ingest_counts counts;
	uint64_t last_number; /* number of the newest mark; UINT64_MAX: no step was marked */
	/* Number of time slices read. Their times are kept until the first real step comes. */
	uint64_t n_slices;
	bool has_real_steps;
	/*
	 * Generations of anchors that mark training steps. Steps before the first of these are not
	 * training.
	 */
	VEC(uint32_t) trainings;
	/* numbers of the first 4,096 recorded steps passed on, and of those that get traces */
	VEC(uint64_t) recorded, traced;
};

/*
 * Opens a journal. `live`: its process may still write. Returns 0, or -errno with one line in `e`.
 * Copies `sink`. `f` must not move until ingest_close().
 */
int ingest_open(struct ingest *f, const char *path, bool live, const struct ingest_sink *sink,
		struct err *e);
void ingest_close(struct ingest *f);

/*
 * Frees what was resolved of stacks: 100 MB and more if a framework's symbols were read. Call when
 * no more stacks will be looked up.
 */
void ingest_forget_stacks(struct ingest *f);

/*
 * Reads the records that were written so far, and passes on the steps that are complete. Live:
 * reads a slice of them at a time, so that a collector that is late passes on and frees records as
 * it reads. Returns whether all were read; else `is_in_pass` is set, and the next call reads on.
 */
bool ingest_read(struct ingest *f);
/* Calls ingest_read() until everything that was written before this call has been read. */
void ingest_read_all(struct ingest *f);

/*
 * Reads the rest of a journal that no process writes any more. Passes on all steps, including the
 * last one. `killed`: the process ended without noting its end.
 */
void ingest_finish(struct ingest *f, bool killed);

/* Returns false for an allocation of impossible size, which a damaged journal may contain. */
bool ingest_takes_call(const struct ingest *f, const struct rec_call *c);

/*
 * Inserts a mark between the marks that are known already, in the order of time. Ignores a mark
 * that lies before the current step.
 */
void ingest_add_mark(struct ingest *f, const struct step_mark *mark);

/*
 * Removes the marks of an anchor that proved wrong, and ignores its further marks. Allowed only
 * while holds_steps is set.
 */
void ingest_void(struct ingest *f, uint32_t generation);
/*
 * Declares that training begins with the first step marked by the anchor of this generation. Step
 * times are collected anew from there.
 */
void ingest_train(struct ingest *f, uint32_t generation);
bool ingest_is_void(const struct ingest *f, uint32_t generation);

/*
 * Returns the number of steps that the process made, including the one under way. If steps are
 * learned, the step under way counts only if its anchor has occurred. Otherwise the program's last
 * step may have ended, and what follows is not a step.
 */
uint64_t ingest_count_steps(const struct ingest *f);

/* Adds a step to the list `recorded`, and to `traced` if it gets traces. The step was passed on or
 * will be. */
void ingest_note_recorded(struct ingest *f, uint64_t number, bool is_traced);

/* Live only: returns chunks that have been read to the library for reuse. Returns their number. */
uint32_t ingest_recycle(struct ingest *f);

/* Name of the detector if time slices are recorded instead of steps. */
#define STEP_SLICES_NAME "slices"

/*
 * Returns how steps are detected, as the word that PROF_STEP begins with: "auto", "optimizer",
 * "kernel", ...
 */
const char *step_detector_name(const struct journal_steps *s);

/* ---- Shared by the files ingest*.c only ---- */

/*
 * How long after a step's end to wait until calls of other threads that were under way then have
 * been written.
 */
enum { INGEST_GRACE_NS = 200000000 };

/* ---- ingest_opening.c ---- */

/* Takes STEP_OPENING_ENDED. */
void ingest_end_opening(struct ingest *f, uint64_t ticks);

/*
 * Passes on all steps of the opening, with traces of the last steps: as many as the schedule
 * records at a time. Call if the schedule wants none of the run's steps. `last`: the last step of
 * the run, which has no end.
 */
void ingest_keep_opening(struct ingest *f, uint64_t last);

/*
 * Returns the action of the step that ends at `end`. A step that was detected after it had ended
 * got the schedule's action. If the library has moved the schedule since, the schedule does not
 * want this step. SCHED_NONE: the library recorded only the launches of this step.
 */
uint8_t ingest_action_of(const struct ingest *f, const struct step_mark *mark, uint64_t end);

/* Returns whether the step that `mark` begins, and that ends at `end`, is passed on. */
bool ingest_is_recorded(const struct ingest *f, const struct step_mark *mark, uint64_t end);

/* Returns whether the step under way may be passed on. */
bool ingest_may_be_recorded(const struct ingest *f);

/*
 * Notes the length of a recorded step of the opening. Live: notifies the library when there are
 * enough such steps.
 */
void ingest_note_length(struct ingest *f, double ms);

/* Returns whether a step that is passed on gets traces. */
bool ingest_is_traced(const struct ingest *f, const struct step_mark *mark);

/* A step being closed: the first n_cut calls of each thread, and the GPU work with its calls. */
struct ingest_cut {
	uint64_t begin_ticks, end_ticks;
	const struct step_mark *mark;
	bool is_recorded; /* the step is passed on */
	bool is_last, is_killed;
	/* the step has no end: its anchor stopped occurring, or the process was killed */
	bool is_cut;
	struct pair_thread *threads; /* parallel to ingest.threads */
	size_t n_calls;
	struct rec_gpu *works;
	uint32_t *call_of; /* for each of `works`: the number of its call, or a pair_answer */
	size_t n_works;
};

/* Returns whether no GPU work is expected of the step's calls. */
bool ingest_is_silent(const struct ingest *f, const struct ingest_cut *cut);

/* ---- ingest_cut.c ---- */

/*
 * Returns whether GPU timing was on when this call was made and the call makes GPU work. Then its
 * work should arrive.
 */
bool ingest_expects_work(const struct ingest *f, const struct rec_call *c);
/* ingest_expects_work() for pair.h */
bool ingest_expects(const void *ingest, const struct rec_call *call);

/* Sets each thread's n_cut to its number of calls that begin before `end`. Returns the sum. */
size_t ingest_cut_calls(struct ingest *f, uint64_t end);

/* Leaves out each thread's last calls that were made at exit and make no GPU work: libraries
 * release what they hold. Lowers n_cut. Returns the number of calls left out. */
size_t ingest_leave_out_exit(struct ingest *f);

/* Returns whether the cut is everything that was recorded, because no steps were detected. */
bool ingest_is_whole_run(const struct ingest *f, const struct ingest_cut *cut);

/*
 * Returns each thread's first n_cut calls, parallel to ingest.threads. The caller frees the array.
 */
struct pair_thread *ingest_cut_threads(const struct ingest *f);
void ingest_match(const struct ingest *f, const struct pair_thread *threads, uint64_t begin,
		  uint64_t end, uint32_t *call_of);
/*
 * Returns the seq of the last call with GPU work among the thread's first n_calls calls. Without
 * such a call, returns that of the last one passed on.
 */
uint32_t ingest_last_seq(const struct ingest *f, const struct ingest_thread *t, size_t n_calls);

/* ingest_step.c: pass on the first step, which another must follow, or the last step. */
void ingest_close_first(struct ingest *f);
void ingest_close_last(struct ingest *f, bool killed);
/* Drops the calls of a long step that were read so far, so that memory stays bounded. */
void ingest_drop_unwanted(struct ingest *f);

/*
 * ingest_order.c: Fills `externals` if CUPTI does not record calls. Call before pair_match() is
 * used on the records held. The result is kept until more records are read: it was found with
 * records that are no longer held once steps have been passed on.
 */
void ingest_pair_by_order(struct ingest *f);
/* Updates `gone` with the work of a step that is about to be passed on. */
void ingest_note_gone(struct ingest *f, const struct ingest_cut *cut);

/*
 * ingest_hold.c: holds work that thread `t` delivered; see there. ingest_hold_next_chunk(): a new
 * chunk of the thread is about to be read. ingest_hold_end_pass(): a pass over a live journal has
 * ended. ingest_hold_until(): work that began until `ticks` is held no longer.
 */
void ingest_hold(struct ingest *f, struct ingest_thread *t, const struct rec_gpu *work);
void ingest_hold_next_chunk(struct ingest *f, struct ingest_thread *t);
void ingest_hold_end_pass(struct ingest *f);
void ingest_hold_until(struct ingest *f, uint64_t ticks);

/* ingest_group.c: passes on the first n steps; another step must follow each of them. */
void ingest_close_group(struct ingest *f, size_t n);

/*
 * ingest_build.c: fills `m` from the cut, and counts what was not paired. Free `m` with
 * model_free().
 */
void ingest_build(struct ingest *f, const struct ingest_cut *cut, struct model_step *m);

/* ingest_call.c: returns a recorded call as a call of the model. */
struct model_call ingest_call_of(const struct ingest *f, const struct rec_call *c,
				 uint8_t category);

/*
 * ingest_blocks.c: add the blocks of a framework's allocator to the model. Call
 * ingest_build_segments() before the step's own calls change the memory held.
 */
void ingest_build_segments(struct ingest *f, struct model_step *m);
/* Updates run.failure and run.last_call with the calls of the step. In ingest_failure.c. */
void ingest_note_failures(struct ingest *f, const struct ingest_cut *cut);

void ingest_build_blocks(struct ingest *f, const struct ingest_cut *cut, struct model_step *m,
			 bool is_recorded);

/*
 * ingest_ready.c: passes on every complete step. `is_final`: passes on all steps with the records
 * there are, including the last step.
 */
void ingest_close_steps(struct ingest *f, bool is_final, bool killed);

#endif
