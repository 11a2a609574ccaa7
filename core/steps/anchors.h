/*
 * Finds where a step's anchor occurs in a journal, and adds a mark to the ingest for each step that
 * ended before the library had the anchor. For what an anchor is, see struct journal_steps in
 * core/runtime/record.h.
 */
#ifndef CORE_ANCHORS_H
#define CORE_ANCHORS_H

#include "core/source/journal/ingest.h"

/*
 * Returns the token that the library pushes into its window for this call (preload/capture.h), or 0
 * if it pushes none.
 */
uint64_t anchor_token(const struct rec_call *call, uint8_t category);

/* A launch that completed the anchor, or its backup. */
struct anchor_hit {
	uint64_t ticks; /* when it began; see struct finder in anchors.c */
	/* its thread, and the thread's count of launches, this one included */
	uint32_t slot, at;
	bool is_backup;
};

typedef VEC(struct anchor_hit) anchor_hits;

/* Sorts the hits by time and removes anchors that ended no step (core/runtime/iteration.h). */
void anchors_order(anchor_hits *hits, uint32_t apart);

/* What a journal says about its steps; `anchor` is 0 if nothing is known. */
struct anchor {
	uint64_t anchor, backup;
	uint32_t backup_within, apart;
	bool has_base;
	uint64_t base;
	/*
	 * Used without a base: steps that ended before the first anchor; -1 if the anchor occurred
	 * before the first step had ended.
	 */
	int64_t n_missed;
	/* Used without a base: how often the backup occurred before the first step. */
	uint32_t n_early_backups;
	uint64_t end; /* see struct level_choice */
	/* The anchor occurred before the first step's end, so not after the last one's. */
	bool is_late;
	uint32_t generation;
	bool begins_training; /* the first anchor whose steps an optimizer ends */
	/* Nothing was recorded live, so the schedule is applied to the steps found here. */
	bool uses_schedule;
};

typedef VEC(struct anchor) anchors;

typedef VEC(uint32_t) anchor_generations;

/* Adds a mark for a STEP_COUNTED of the anchor's generation. The step's number is base + count. */
void anchor_mark_counted(struct ingest *f, const struct rec_step *step, const struct anchor *a);

struct launch_log;

/*
 * Adds a mark to `f` for each step that the anchor ends and that the library did not number itself,
 * from the launches of its journal.
 */
void anchors_mark(struct ingest *f, const struct launch_log *log, const struct anchor *a);

#endif
