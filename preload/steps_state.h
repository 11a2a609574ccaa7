/*
 * What the files behind steps.h share: the one state, and who does what with it. steps.c crosses boundaries and turns the switch,
 * steps_learn.c has the library's half of learning steps, steps_modes.c the modes whose steps begin with a call.
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
	struct agree agree; /* with the other ranks of the job */
	bool has_company;
	atomic_flag crossing;
	_Atomic bool pending; /* a step has ended; the next launch or copy begins the new one */
	_Atomic bool outside; /* api: between cudaProfilerStop and Start */
	bool counted_first; /* kernel, nvtx, graph: what came before the first anchor belongs to step 0 */
	enum sched_action action;
	uint64_t number;     /* of the step under way */
	uint64_t known_in;   /* auto: the one in which steps became known, or sure */
	uint64_t own;	     /* auto: anchors since the adoption */
	uint32_t generation; /* of the adopted anchor */
	uint32_t
		calls_per_step; /* of its steps: by now the collector may have told those of another one */
	struct iteration iteration;	/* auto: what has come of it */
	uint32_t within, thread, apart; /* of the adopted anchor: struct iteration_anchors */
	uint64_t end;			/* of its steps: struct journal_steps */
	bool is_late;			/* the same */
	uint32_t heard;			/* the newest anchor that was looked at */
	bool was_locked;		/* before the anchor was lost */
	bool is_provisional; /* the anchor may turn out to be the wrong one; then all is as it was: */
	struct {
		struct arm arm;
		uint64_t number;
		enum step_optimizer trained;
		bool was_locked, waits;
	} before;
	_Atomic bool is_overdue; /* the anchor is, and the collector looks for another one */
	enum step_optimizer by_optimizer; /* ends the steps */
	bool begins_training;		  /* it does, and none ended any before */
	enum step_optimizer trained;	  /* the surest of those that ended locked steps */
	struct doubt doubt;		  /* where none does */
	_Atomic uint64_t n_overdue; /* launches and copies journaled since, or for nothing before */
	uint64_t doubted_in; /* the step in which the collector began to look for another one */
	uint64_t look_from,
		look_n; /* how many steps it looks at though the anchor comes, and since which it does; 0: not yet */
	uint64_t look_end_ticks; /* when the last of them had come; 0: not yet */
	uint64_t looked_from;	 /* n_overdue when it began */
	uint64_t began_ticks;	 /* the step under way */
	uint64_t slice_ticks;	 /* time: */
	unsigned slice_ms;	 /* slices of time stand in for steps: so long, 0: they do not */
	_Atomic uint64_t
		asked_ticks; /* since when somebody waits for steps to be known, 0: nobody */
	_Atomic uint64_t patience_ticks;
	uint64_t graphs[8];	/* graph: the execs launched last */
	_Atomic uint64_t graph; /* the one that repeats */
	unsigned next_graph;
	const char *range; /* nvtx: NAME or NAME@DOMAIN */
};

extern struct steps_state steps_state;

static inline enum step_state steps_told(void)
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
	       (steps_told() != STEP_STATE_LOCKED || steps_state.is_provisional ||
		steps_are_overdue());
}

/* ---- steps.c ---- */

/* Categories are recorded and watched as the step under way wants it. */
void steps_iteration_switch(void);

void steps_write_record(const struct rec_step *from);
void steps_write(enum step_event event, uint64_t number, uint64_t ticks);

/* The schedule's clock is set: `next` is the first step that it may arm. */
void steps_begin_schedule(uint64_t next);

/* From here on this thread's launches are counted against it. */
void steps_see(uint64_t number);

/* One thread at a time crosses a boundary, between these. `patient`: waits for some microseconds. */
bool steps_enter_crossing(bool patient);
void steps_leave_crossing(void);

/* Step `number` begins at `ticks`; steps_begin_with_this: of a mode whose steps begin with a call, but for the first. Within a crossing. */
void steps_begin(uint64_t number, uint64_t ticks);
void steps_begin_with_this(uint64_t ticks);

/* ---- steps_learn.c; all but the first three within a crossing ---- */

struct iteration_anchors steps_anchors(void);

enum lateness { IN_TIME, OVERDUE, LOST };

/* Of this thread; looked at once in STEPS_LOOK_EVERY launches. */
enum lateness steps_lateness(void);

/* Whether the collector has said something new, and what follows from it. */
bool steps_have_news(void);
void steps_listen(void);

/* A launch completed `hash` while steps are learned. */
void steps_learn_from(uint64_t hash);

/* The anchor is overdue; it does not come any more; it has come again. */
void steps_doubt(void);
void steps_lose(void);
void steps_find_again(void);

/* It came in time, in a step that had taken `took` ticks. */
void steps_mind_doubts(uint64_t ticks, uint64_t took);

/* ---- steps_modes.c ---- */

/* PROF_STEP=nvtx. */
void steps_watch_ranges(const char *range);

#endif
