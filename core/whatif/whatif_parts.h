/* Shared by the files that implement core/whatif/whatif.h. */
#ifndef CORE_WHATIF_PARTS_H
#define CORE_WHATIF_PARTS_H

#include "core/whatif/whatif.h"

/* Properties of an op's call. Kept per op, so that the many loops over all ops need not load the
 * call. */
enum whatif_trait {
	/* no allocation or free, no copy, no wait, and no copies among the GPU work of the call */
	IS_PLAIN = 1,
	IS_OF_RANKS = 2, /* communicates with other ranks */
	IS_OF_RUN = 4,	 /* in the same run of its line as the lane's previous call */
};

/* Returns the op's call; NULL: the op is an orphan, work whose call is unknown. */
static inline const struct timeline_call *whatif_call(const struct whatif *w, uint32_t op)
{
	uint32_t call = w->replay.ops.at[op].call;
	return call == REPLAY_NONE ? NULL : &w->timeline->calls.at[call];
}

enum {
	/* A call of a data loader is one of the first WHATIF_CALLS_TO_BATCH calls after
	 * the gap in which the host made the batch. */
	WHATIF_CALLS_TO_BATCH = 4,
	/* If a gap is longer than WHATIF_TIMES_SHARE times the time that host_share_of() assigns to
	 * its two calls, the host did something else in the gap, too. */
	WHATIF_TIMES_SHARE = 4,
};

/* ---- whatif_pinned.c ---- */

/* Shortens the op's large copies from pageable memory to the time that they would take from pinned
 * memory. */
void whatif_pin_source(struct whatif *w, uint32_t op);

/* ---- whatif_streams.c ---- */

/* Applies WHATIF_OWN_STREAM to the launches of a line. */
void whatif_use_own_stream(struct whatif *w, uint32_t site);
/* Returns true if the change of streams affects the op's GPU work. */
bool whatif_is_moved(const struct whatif *w, uint32_t op);

struct whatif_place;

/* ---- whatif_nodes.c ---- */

/* Removes the GPU work that the changed line captured into graphs. With `counts_only` it only
 * looks. Returns whether there is any. */
bool whatif_remove_nodes(struct whatif *w, struct whatif_place *p, bool counts_only);
/* Lets the copies that `site` captured into graphs run next to the nodes after them: copies from
 * the device on another branch of the graph, and copies to the device outside the graph. */
void whatif_branch_copies(struct whatif *w, uint32_t site);
/* Changes the gaps of host functions that `site` captured into graphs; `site` 0: those of all
 * lines. `flag`: NODE_NO_GAP or NODE_HALF_GAP. */
void whatif_change_host_nodes(struct whatif *w, uint32_t site, uint8_t flag);

/* ---- whatif_place.c ---- */

/* Finds the calls that a change of a line applies to. */
struct whatif_place {
	const struct whatif *w;
	const struct whatif_change *change;
	uint8_t *site; /* by frames_site(): 1 if the site is the changed line */
	/* The site does not decide: either only calls through `inner` are changed, or the line is
	 * no site, and calls with the line anywhere in their stack are changed. */
	bool is_by_stack;
	struct map of_stack; /* if is_by_stack: stack -> 1 if the change applies to its calls */
};

void whatif_place_open(struct whatif_place *p, const struct whatif *w,
		       const struct whatif_change *change);
void whatif_place_close(struct whatif_place *p);
/* Returns true if the change applies to the call. Adds to p->of_stack. */
bool whatif_is_here(struct whatif_place *p, const struct timeline_call *c);

/* ---- whatif_runs.c ---- */

/* Finds successive calls that belong to one run of a line, that is, one execution of the line by a
 * lane. Runs are numbered from 1. */
struct whatif_runs {
	struct map seen; /* lane and stack -> the last run in which the lane made a call there */
	/* by lane: the line of the lane's last call, and the number of its run */
	struct whatif_run {
		uint32_t line, number;
	} * of_lane;
	uint32_t n; /* number of runs so far */
};

void whatif_runs_open(struct whatif_runs *r, const struct replay *replay);
void whatif_runs_close(struct whatif_runs *r);
/* Adds a call; the calls of a lane must be added in order. Returns true if the call is in the same
 * run as the lane's previous call. `line`: any number that identifies the call's line; 0: a call
 * outside the lines of interest, which ends the run. */
bool whatif_runs_go_on(struct whatif_runs *r, uint16_t lane, uint32_t stack, uint32_t line);

/* Removes the host's time between successive calls that belong to one run of the line. */
void whatif_cut_runs(struct whatif *w, struct whatif_place *place);

/* ---- whatif_gaps.c ---- */

/* Returns the direction of a copy (COPY_H2D, ...). Uses CUPTI's record of the copy if the call does
 * not say the direction, as with cudaMemcpyDefault. */
uint8_t whatif_copy_kind(const struct whatif *w, const struct timeline_call *c);
/* Returns the part of the gap before the op, in ns, that the calls on both sides do not need; 0 if
 * the user cannot avoid that part. `of_input`: true if the user can in any case, for example
 * because the host makes an input batch in the gap. */
double whatif_spare_ns(const struct whatif *w, uint32_t op, bool of_input);
/* Returns true if the op's call and the previous call of the same thread communicate with other
 * ranks. Between them the host waits for these ranks, without own work. */
bool whatif_is_exchange(const struct whatif *w, uint32_t op);
/* Shortens gaps to the part that the calls on both sides need. `of_input`: true for the gaps in
 * which an input batch is made, false for all other gaps. */
void whatif_free_gaps(struct whatif *w, bool of_input);
/* Applies WHATIF_PAUSE: shortens those gaps in which no input batch is made and that the change
 * names. */
void whatif_free_pauses(struct whatif *w, const struct whatif_change *change);
/* Halves the part of the gaps that whatif_free_gaps() would remove as the host's own work, or with
 * `of_own` false the part of all gaps that the calls on both sides need. */
void whatif_halve_gaps(struct whatif *w, bool of_own);
/* Shortens gaps as whatif_free_gaps() does, but only those before the calls of the change's line,
 * whether or not an input batch is made in them. */
void whatif_free_gaps_before(struct whatif *w, const struct whatif_change *change);

/* ---- whatif_sampled.c ---- */

/* Removes the time that samples show at the change's line (`file` and `line`) from the gaps between
 * calls. Returns false if no sample has the line on its stack. */
bool whatif_cut_sampled(struct whatif *w, const struct whatif_change *change);

/* ---- whatif_steps.c ---- */

/* Determines which steps are typical, and their mean length (recorded_ns). The model's last play
 * must have been without changes. */
void whatif_choose_typical(struct whatif *w);
/* Sets lengths_ns and step_ns. The model's last play must have been without changes and without
 * recording overhead. */
void whatif_measure_typical(struct whatif *w);
/* Sets w->iteration, the step of each op. */
void whatif_note_iterations(struct whatif *w);

#endif
