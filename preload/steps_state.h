/*
 * State shared by the files that implement steps.h. steps.c crosses boundaries and sets the switch.
 * steps_learn.c contains the library's half of step detection, steps_modes.c the modes whose steps
 * begin with a call.
 */
#ifndef PRELOAD_STEPS_STATE_H
#define PRELOAD_STEPS_STATE_H

#include "core/runtime/iteration.h"
#include "preload/agree.h"
#include "preload/arm.h"
#include "preload/doubt.h"
#include "preload/opening.h"
#include "preload/steps.h"

struct steps_state {
	struct journal_steps *shared; /* in the journal's header */
	enum step_mode mode;
	struct arm arm;
	struct opening opening; /* while arm.is_opening is set */
	uint64_t soon;		/* the first step that the default schedule records */
	struct agree agree;	/* agreement with the job's other ranks on the start step */
	bool has_peers;
	/* categories to watch if no stream captures */
	_Atomic uint32_t watch;
	_Atomic bool has_captured; /* a stream has captured */
	atomic_flag crossing;
	_Atomic bool pending; /* a step has ended; the next launch or copy begins the new step */
	/* api: after cudaProfilerStop and before the next cudaProfilerStart */
	_Atomic bool outside;
	/* kernel, nvtx, graph: the first anchor has occurred. Everything before it belongs to step
	 * 0. */
	bool counted_first;
	enum sched_action action;
	uint64_t number;     /* number of the current step */
	uint64_t known_in;   /* auto: the step in which steps were locked or confirmed */
	uint64_t own;	     /* auto: how often the anchor has ended a step since it was adopted */
	uint32_t generation; /* generation of the adopted anchor */
	/* Calls per step of the adopted anchor. The value in the journal may belong to a newer
	 * anchor already. */
	uint32_t calls_per_step;
	struct iteration iteration; /* auto: whether the anchor and the backup have occurred */
	/* of the adopted anchor: members of struct iteration_anchors */
	uint32_t within, thread, apart, every;
	uint64_t end; /* of the adopted anchor: as in struct journal_steps */
	bool is_late; /* of the adopted anchor: as in struct journal_steps */
	/* generation of the newest anchor that the library has read */
	uint32_t heard;
	bool was_locked; /* steps were locked at least once */
	/* what a provisional anchor has replaced; restored if the anchor proves wrong */
	struct {
		struct arm arm;
		uint64_t number;
		enum step_optimizer trained;
		bool was_locked, waits;
	} before;
	enum step_optimizer by_optimizer; /* whether an optimizer ends the adopted anchor's steps */
	/* an optimizer ends these steps, and none ended the earlier steps */
	bool begins_training;
	/* highest value of by_optimizer among the anchors that were locked */
	enum step_optimizer trained;
	struct doubt doubt; /* decides when to check steps that no optimizer ends */
	/* launches and copies journaled since the anchor was overdue, or during earlier looks
	 * without result */
	_Atomic uint64_t n_overdue;
	uint64_t doubted_in; /* the step in which the collector began to look for another anchor */
	/* The collector looks at `look_n` steps from step `look_from` on, although the anchor
	 * occurs. look_from 0: the collector has not begun to look. */
	uint64_t look_from, look_n;
	uint64_t look_end_ticks; /* when the last of the look_n steps ended; 0: not yet */
	uint64_t looked_from;	 /* value of n_overdue when the collector began to look */
	uint64_t began_ticks;	 /* when the current step began */
	uint64_t slice_ticks;	 /* length of a time slice */
	/* length of the time slices that replace steps; 0: steps are not replaced */
	unsigned slice_ms;
	/* when the waiting request was first seen while no steps were known; 0: no request waits */
	_Atomic uint64_t asked_ticks;
	_Atomic uint64_t patience_ticks;
	uint64_t graphs[8]; /* graph: the executable graphs launched most recently */
	/* graph: the executable graph that is launched repeatedly; 0: none yet */
	_Atomic uint64_t graph;
	unsigned next_graph;
	const char *range; /* nvtx: the setting, NAME or NAME@DOMAIN */
};

extern struct steps_state steps_state;

static inline enum step_state steps_learn_state(void)
{
	return (enum step_state)atomic_load_explicit(&steps_state.shared->state,
						     memory_order_relaxed);
}

/* Moves on to `state`. Called within a crossing. release: whoever reads the state also reads what
 * was stored before. */
static inline void steps_set_state(enum step_state state)
{
	atomic_store_explicit(&steps_state.shared->state, state, memory_order_release);
}

/* Returns whether launches and copies are journaled for learning. */
static inline bool steps_still_learning(void)
{
	return steps_state.mode == STEP_MODE_AUTO && steps_learn_state() != STEP_STATE_CONFIRMED;
}

/* ---- steps.c ---- */

/* Sets the switch (hook.h) to what the current step records and watches. */
void steps_set_switch(void);

void steps_write_record(const struct rec_step *from);
void steps_write(enum step_event event, uint64_t number, uint64_t ticks);

/* Starts the schedule. `next` is the first step that the schedule may record. */
void steps_begin_schedule(uint64_t next);

/* Starts counting the launches that this thread makes in step `number`. */
void steps_see(uint64_t number);

/* Every boundary is crossed between these two calls, by one thread at a time. steps_enter_crossing
 * returns false if another thread is crossing. `patient`: tries for some microseconds first. */
bool steps_enter_crossing(bool patient);
void steps_leave_crossing(void);

/* steps_begin: begins step `number` at `ticks`. steps_begin_with_this: begins the next step in a
 * mode whose steps begin with a call; the first such call begins no new step. Both must be called
 * within a crossing. */
void steps_begin(uint64_t number, uint64_t ticks);
void steps_begin_with_this(uint64_t ticks);

/* ---- steps_learn.c; all but the first three functions are called within a crossing ---- */

struct iteration_anchors steps_anchors(void);

enum lateness { IN_TIME, OVERDUE, LOST };

/* Returns whether the anchor is late, judged by this thread's launches. Must be called once in
 * STEPS_LOOK_EVERY launches. */
enum lateness steps_lateness(void);

/* steps_have_news: returns whether the collector has written something new. steps_read_news: acts
 * on it. */
bool steps_have_news(void);
void steps_read_news(void);

/* Learns from a launch that completed `hash`. Called while steps are learned. */
void steps_learn_from(uint64_t hash);

/* steps_doubt: called when the anchor is overdue. steps_lose: when the anchor is lost.
 * steps_find_again: when an anchor has ended a step, whether or not it was lost before. */
void steps_doubt(void);
void steps_lose(void);
void steps_find_again(void);

/* Called when the anchor has ended a step at `ticks`. The step lasted `took` ticks. */
void steps_check_doubts(uint64_t ticks, uint64_t took);

/* ---- steps_modes.c ---- */

/* For PROF_STEP=nvtx: makes ranges that match `range` begin steps. */
void steps_watch_ranges(const char *range);

#endif
