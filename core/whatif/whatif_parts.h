/* Shared by the files that implement core/whatif/whatif.h. */
#ifndef CORE_WHATIF_PARTS_H
#define CORE_WHATIF_PARTS_H

#include "core/whatif/whatif.h"

enum whatif_trait {
	IS_PLAIN = 1,	 /* no memory call, copy or wait, and no copy among its work */
	IS_OF_RANKS = 2, /* communicates with other ranks */
	IS_OF_RUN = 4,	 /* in the same run of its line as the call before it */
};

/* Returns the op's call; NULL: an orphan. */
static inline const struct timeline_call *whatif_call(const struct whatif *w, uint32_t op)
{
	uint32_t call = w->replay.ops.at[op].call;
	return call == REPLAY_NONE ? NULL : &w->timeline->calls.at[call];
}

enum {
	/* The copy of a batch is at most this many calls after the pause in which the batch was
	 * made. */
	WHATIF_CALLS_TO_BATCH = 4,
	/* A gap of more than this many times its frames' share contains something else. */
	WHATIF_TIMES_SHARE = 4,
};

/* whatif_pinned.c: gives the op's copies the duration that they would have from pinned memory. */
void whatif_pin_source(struct whatif *w, uint32_t op);

/* whatif_place.c: finds the calls that a change of a line applies to. */
struct whatif_place {
	const struct whatif *w;
	const struct whatif_change *change;
	uint8_t *site; /* by site: it is the line */
	bool is_by_stack;
	struct map of_stack; /* if is_by_stack: stack -> 1 if the change applies */
};

void whatif_place_open(struct whatif_place *p, const struct whatif *w,
		       const struct whatif_change *change);
void whatif_place_close(struct whatif_place *p);
bool whatif_is_here(struct whatif_place *p, const struct timeline_call *c);

/* whatif_runs.c: finds successive calls that belong to one run of a line. A lane's calls must come
 * in order. */
struct whatif_runs {
	struct map seen; /* lane and stack -> the last run with this stack */
	struct whatif_run {
		uint32_t line, number;
	} * of_lane;
	uint32_t n;
};

void whatif_runs_open(struct whatif_runs *r, const struct replay *replay);
void whatif_runs_close(struct whatif_runs *r);
/* Returns true if the call is in the same run as the one before it in its lane. `line`: any number
 * that identifies its line, 0: none. */
bool whatif_runs_go_on(struct whatif_runs *r, uint16_t lane, uint32_t stack, uint32_t line);

/* Removes the host's time between two calls of one run of the line. */
void whatif_cut_runs(struct whatif *w, struct whatif_place *place);

/* whatif_gaps.c: returns the direction of a copy, from CUPTI if the call does not say it
 * (cudaMemcpyDefault). */
uint8_t whatif_copy_kind(const struct whatif *w, const struct timeline_call *c);
/* Removes from the gaps what the calls on both sides don't need: from gaps with input, or from all
 * others. `site` 0: everywhere; `is_within`: only within runs of the line. */
void whatif_free_gaps(struct whatif *w, bool of_input, uint32_t site, bool is_within);
/* Does the same for the gaps before the calls of the change's line, with or without input. */
void whatif_free_gaps_before(struct whatif *w, const struct whatif_change *change);

/* whatif_steps.c: chooses the typical steps, and measures them without recording overhead; both
 * from the last play, which must be unchanged. */
void whatif_choose_typical(struct whatif *w);
void whatif_measure_typical(struct whatif *w);
/* Notes the step of each op. */
void whatif_note_iterations(struct whatif *w);

#endif
