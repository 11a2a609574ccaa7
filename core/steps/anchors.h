/*
 * Adds a mark to the ingest for each step that ended before the library had the anchor. Finds these
 * steps by searching the journal's launches for the anchor. For what an anchor is, see struct
 * journal_steps in core/runtime/record.h.
 */
#ifndef CORE_ANCHORS_H
#define CORE_ANCHORS_H

#include "core/source/journal/ingest.h"
#include "core/steps/loop_choice.h"

/*
 * Returns the token of this call, the same one that the library pushes into the thread's token
 * window (preload/steps.h). Returns 0 if the library pushes none: for other calls, and for calls
 * that became nodes of a CUDA graph.
 */
uint64_t anchor_token(const struct rec_call *call, uint8_t category);

/* A launch at which the anchor or its backup was found. */
struct anchor_hit {
	/*
	 * In core/steps/learn.c: begin of the launch that completed the anchor or backup. In
	 * core/steps/anchors.c: begin of the thread's next launch.
	 */
	uint64_t ticks;
	/*
	 * The launch's thread, and the number of launches that this thread had made by then,
	 * including this one.
	 */
	uint32_t slot, at;
	bool is_backup;
};

typedef VEC(struct anchor_hit) anchor_hits;

/*
 * Sorts the hits by time and removes the anchors that ended no step (core/runtime/iteration.h).
 * `apart`: see struct iteration_anchors.
 */
void anchors_order(anchor_hits *hits, uint32_t apart);

/*
 * What a journal says about one anchor and the steps that it ends. `anchor` is 0 if the journal has
 * no anchor.
 */
struct anchor {
	uint64_t anchor, backup;
	uint32_t backup_within, apart;
	uint32_t every, lead; /* see iteration_ends_at() */
	/* The base is known: STEP_COUNTED 1 begins step `base` + 1. */
	bool has_base;
	uint64_t base;
	/*
	 * Used without a base: number of steps that ended before the first anchor, or -1 if the
	 * anchor occurred before the first step had ended.
	 */
	int64_t n_missed;
	/* Used without a base: number of backups that occurred before the first step. */
	uint32_t n_early_backups;
	uint64_t end; /* see struct level_choice */
	/*
	 * The anchor is among the first launches of a step, so it occurs before the step's end and
	 * not after the last step's end.
	 */
	bool is_late;
	uint32_t generation;
	/* This is the first anchor whose steps end with an optimizer. */
	bool begins_training;
	/*
	 * Nothing was recorded while the program ran, so the schedule is applied to the steps found
	 * here.
	 */
	bool uses_schedule;
};

typedef VEC(struct anchor) anchors;

typedef VEC(uint32_t) anchor_generations;

/*
 * Adds the mark of the step that a STEP_COUNTED record begins. The step's number is base + count.
 * Ignores records of another generation.
 */
void anchor_mark_counted(struct ingest *f, const struct rec_step *step, const struct anchor *a);

struct launch_log;

typedef VEC(uint64_t) anchor_ticks;

/* Fills `to` with the ticks at which the anchor begins steps, in ascending order. */
void anchors_begins(anchor_ticks *to, const struct launch_log *log, const struct anchor *a);

/*
 * Adds to `f` a mark for each step that the anchor ends, unless the library numbered the step
 * itself. Finds the anchor in `log`, the launches of the same journal.
 */
void anchors_mark(struct ingest *f, const struct launch_log *log, const struct anchor *a);

/*
 * Adds to `f` a mark for each step that begins at one of `begins`, in ascending order; the first of
 * them is step 0. The last one ends at `end_ticks`. Marks that the library made are ignored.
 */
void anchors_mark_begins(struct ingest *f, const loop_begins *begins, uint64_t end_ticks);

#endif
