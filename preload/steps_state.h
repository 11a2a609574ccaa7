/*
 * State shared by the files that implement steps.h. steps.c crosses boundaries and sets the switch,
 * steps_learn.c has the library's half of step detection, steps_modes.c the modes whose steps begin
 * with a call.
 */
#ifndef PRELOAD_STEPS_STATE_H
#define PRELOAD_STEPS_STATE_H

#include "core/runtime/iteration.h"
#include "preload/agree.h"
#include "preload/arm.h"
#include "preload/doubt.h"
#include "preload/steps.h"

struct steps_state {
	struct journal_steps *shared; /* in the journal's header */
	enum step_mode mode;
	struct arm arm;
	struct agree agree; /* agreement with the job's other ranks */
	bool has_peers;
	atomic_flag crossing;
	_Atomic bool pending; /* a step has ended; the next launch or copy begins the new one */
	_Atomic bool outside; /* api: between cudaProfilerStop and Start */
	/* kernel, nvtx, graph: the first anchor has occurred; what came before it belongs to
	 * step 0 */
	bool counted_first;
	enum sched_action action;
	uint64_t number;     /* of the current step */
	uint64_t known_in;   /* auto: the step in which steps were locked or confirmed */
	uint64_t own;	     /* auto: anchors counted since adoption */
	uint32_t generation; /* of the adopted anchor */
	/* the adopted anchor's; the collector may have written a newer one's since */
	uint32_t calls_per_step;
	struct iteration iteration;	/* auto: which of anchor and backup have occurred */
	uint32_t within, thread, apart; /* of the adopted anchor: struct iteration_anchors */
	uint64_t end;			/* likewise: struct journal_steps */
	bool is_late;			/* likewise */
	uint32_t heard;			/* generation of the newest anchor that was read */
	bool was_locked;		/* steps were locked before the anchor was lost */
	bool is_provisional;		/* the anchor may prove wrong; then `before` is restored */
	struct {
		struct arm arm;
		uint64_t number;
		enum step_optimizer trained;
		bool was_locked, waits;
	} before;
	/* the anchor is overdue, and the collector looks for another one */
	_Atomic bool is_overdue;
	enum step_optimizer by_optimizer; /* whether an optimizer ends the steps */
	bool begins_training;		  /* one does, and none ended earlier steps */
	enum step_optimizer trained;	  /* the most certain value among locked steps */
	struct doubt doubt;		  /* used if no optimizer ends the steps */
	/* launches and copies journaled since then, or earlier in vain */
	_Atomic uint64_t n_overdue;
	uint64_t doubted_in; /* the step in which the collector began to look for another anchor */
	/* the collector looks at `look_n` steps from `look_from` on although the anchor occurs;
	 * look_from 0: not yet */
	uint64_t look_from, look_n;
	uint64_t look_end_ticks; /* when the last of them ended; 0: not yet */
	uint64_t looked_from;	 /* n_overdue when the collector began to look */
	uint64_t began_ticks;	 /* begin of the current step */
	uint64_t slice_ticks;	 /* length of a time slice */
	unsigned slice_ms;	 /* time slices replace steps: their length; 0: they do not */
	/* since when a request waits for steps to be detected, 0: none does */
	_Atomic uint64_t asked_ticks;
	_Atomic uint64_t patience_ticks;
	uint64_t graphs[8];	/* graph: the execs launched most recently */
	_Atomic uint64_t graph; /* the one that repeats */
	unsigned next_graph;
	const char *range; /* nvtx: NAME or NAME@DOMAIN */
};

extern struct steps_state steps_state;

static inline enum step_state steps_learn_state(void)
{
	return (enum step_state)atomic_load_explicit(&steps_state.shared->state,
						     memory_order_relaxed);
}

static inline bool steps_are_overdue(void)
{
	return atomic_load_explicit(&steps_state.is_overdue, memory_order_relaxed);
}

static inline bool steps_still_learning(void)
{
	return steps_state.mode == STEP_MODE_AUTO &&
	       (steps_learn_state() != STEP_STATE_LOCKED || steps_state.is_provisional ||
		steps_are_overdue());
}

/* ---- steps.c ---- */

/* Sets the switch to what the current step records and watches. */
void steps_set_switch(void);

void steps_write_record(const struct rec_step *from);
void steps_write(enum step_event event, uint64_t number, uint64_t ticks);

/* Starts the schedule: `next` is the first step that it may record. */
void steps_begin_schedule(uint64_t next);

/* Starts counting this thread's launches for step `number`. */
void steps_see(uint64_t number);

/* One thread at a time crosses a boundary, between these two calls. `patient`: waits for some
 * microseconds. */
bool steps_enter_crossing(bool patient);
void steps_leave_crossing(void);

/* steps_begin: step `number` begins at `ticks`. steps_begin_with_this: the same for a mode whose
 * steps begin with a call, except that the first call begins no new step. Within a crossing. */
void steps_begin(uint64_t number, uint64_t ticks);
void steps_begin_with_this(uint64_t ticks);

/* ---- steps_learn.c; all but the first three within a crossing ---- */

struct iteration_anchors steps_anchors(void);

enum lateness { IN_TIME, OVERDUE, LOST };

/* Returns whether the anchor is late, judged by this thread's launches. Checked once in
 * STEPS_LOOK_EVERY launches. */
enum lateness steps_lateness(void);

/* steps_have_news returns whether the collector has written something new; steps_read_news acts on
 * it. */
bool steps_have_news(void);
void steps_read_news(void);

/* A launch completed `hash` while steps are learned. */
void steps_learn_from(uint64_t hash);

/* The anchor is overdue; it is lost; it has occurred again. */
void steps_doubt(void);
void steps_lose(void);
void steps_find_again(void);

/* The anchor occurred in a step that took `took` ticks. */
void steps_check_doubts(uint64_t ticks, uint64_t took);

/* ---- steps_modes.c ---- */

/* PROF_STEP=nvtx. */
void steps_watch_ranges(const char *range);

#endif
