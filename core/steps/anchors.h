/*
 * Where a step's anchor stands in a journal: the anchors that a library counted by, and a mark for each step that was over before
 * it knew them. What an anchor is: core/runtime/record.h, struct journal_steps.
 */
#ifndef CORE_ANCHORS_H
#define CORE_ANCHORS_H

#include "core/model/ingest.h"

/* The library pushes exactly these into its window (preload/capture.h). 0: it does not push this call. */
uint64_t anchor_token(const struct rec_call *call, uint8_t category);

/* Where a launch began that completed the anchor, or its backup. */
struct anchor_hit {
	uint64_t ticks;
	uint32_t slot, at; /* the thread's, and its count of launches */
	bool is_backup;
};

typedef VEC(struct anchor_hit) anchor_hits;

/* In the order they came in, without anchors that ended no step (core/runtime/turn.h). */
void anchors_order(anchor_hits *hits, uint32_t apart);

/* What a journal says about its steps, or `anchor` 0. */
struct anchor {
	uint64_t anchor, backup;
	uint32_t backup_within, apart;
	bool has_base;
	uint64_t base;
	int64_t n_missed; /* without a base: steps that ended before the first anchor; -1: it came before the first one's end */
	uint32_t n_early_backups; /* without a base: of its backup, before the first step */
	uint64_t end;		  /* struct level_choice */
	bool is_late; /* it came before the first step's end, and comes behind no last one's */
	uint32_t generation;
	bool begins_training; /* none before it was an optimizer's */
	bool uses_schedule; /* nothing was recorded live: what the schedule says is shown from what there is */
};

typedef VEC(struct anchor) anchors;

typedef VEC(uint32_t) anchor_generations;

/* STEP_COUNTED of the anchor's generation: its number is base + count. */
void anchor_mark_counted(struct ingest *f, const struct rec_step *step, const struct anchor *a);

/* The anchors that the library counted in the journal at `path`, oldest first, but for those that turned out to be the wrong ones:
 * their generations. 0 or -errno. */
int anchors_list(const char *path, anchors *list, anchor_generations *voided, struct err *e);

/*
 * Reads the journal at `path` once more and adds a mark to `f` for each step that the anchor tells and that the library did
 * not number itself. `before_ticks`: only those. The number of anchors found, or -errno.
 */
long anchors_mark(struct ingest *f, const char *path, const struct anchor *a, uint64_t before_ticks,
		  struct err *e);

#endif
