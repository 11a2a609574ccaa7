/* Between the files of core/whatif/whatif.h. */
#ifndef CORE_WHATIF_PARTS_H
#define CORE_WHATIF_PARTS_H

#include "core/whatif/whatif.h"

enum whatif_trait {
	IS_PLAIN = 1,	 /* no memory, copy or wait, and no copy among its work */
	IS_OF_RANKS = 2, /* it talks to other ranks */
	IS_OF_RUN = 4,	 /* of the same run of its line as the call before it */
};

/* NULL: an orphan. */
static inline const struct timeline_call *whatif_call(const struct whatif *w, uint32_t op)
{
	uint32_t call = w->replay.ops.at[op].call;
	return call == REPLAY_NONE ? NULL : &w->timeline->calls.at[call];
}

enum {
	/* The copy of a batch is at most so many calls behind the pause in which the batch was made. */
	WHATIF_CALLS_TO_BATCH = 4,
	/* A gap that is this much longer than its frames' share holds something else. */
	WHATIF_TIMES_SHARE = 4,
};

/* whatif_pinned.c: the op's copies come from pinned memory, and take the device as long as such ones do. */
void whatif_pin_source(struct whatif *w, uint32_t op);

/* whatif_place.c: which calls a change of a line is of. */
struct whatif_place {
	const struct whatif *w;
	const struct whatif_change *change;
	uint8_t *site; /* by site: it is the line */
	bool is_by_stack;
	struct map of_stack; /* is_by_stack: 1: here */
};

void whatif_place_open(struct whatif_place *p, const struct whatif *w,
		       const struct whatif_change *change);
void whatif_place_close(struct whatif_place *p);
bool whatif_is_here(struct whatif_place *p, const struct timeline_call *c);

/* whatif_runs.c: calls of a line in a row that are of one run of it. Asked of a lane's calls in order. */
struct whatif_runs {
	struct map seen; /* by lane and stack: the last run that it came in */
	struct whatif_run {
		uint32_t line, number;
	} * of_lane;
	uint32_t n;
};

void whatif_runs_open(struct whatif_runs *r, const struct replay *replay);
void whatif_runs_close(struct whatif_runs *r);
/* Whether the call is of the same run as the one before it in its lane. `line`: any number for the line that makes it, 0: none. */
bool whatif_runs_go_on(struct whatif_runs *r, uint16_t lane, uint32_t stack, uint32_t line);

/* What the host does between two calls of one run of the line goes with it. */
void whatif_cut_runs(struct whatif *w, struct whatif_place *place);

/* whatif_gaps.c: what the copy does by CUPTI, where the call does not say (cudaMemcpyDefault). */
uint8_t whatif_copy_kind(const struct whatif *w, const struct timeline_call *c);
/* Takes what the calls on both sides don't need from the gaps: of input, or all that is not input (`site` 0: everywhere; `is_within`: of the
 * line itself). */
void whatif_free_gaps(struct whatif *w, bool of_input, uint32_t site, bool is_within);
/* The same from those before the calls of the change's line, of input or not. */
void whatif_free_gaps_before(struct whatif *w, const struct whatif_change *change);

/* whatif_steps.c: which of the recorded steps are usual ones, by the last play; how long these take by the last play, with nothing changed. */
void whatif_choose_typical(struct whatif *w);
void whatif_measure_typical(struct whatif *w);
/* Which step each op is of. */
void whatif_note_iterations(struct whatif *w);

#endif
