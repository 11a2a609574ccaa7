/*
 * Finds where one run of a line ends and the next run begins. A run is one execution of the line,
 * for example in one iteration of the loop around it. What the host executes is only known at
 * calls, from their stacks. If two successive calls belong to one run of a line, the host's work
 * between them belongs to the line, too. Otherwise it may belong to any code in the loop around the
 * line. If a call has the same stack as an earlier call of the run, a new run is assumed to begin.
 */
#include "core/whatif/whatif_parts.h"

void whatif_runs_open(struct whatif_runs *r, const struct replay *replay)
{
	*r = (struct whatif_runs){ .of_lane = mem_zero(replay->n_lanes * sizeof(*r->of_lane)) };
}

void whatif_runs_close(struct whatif_runs *r)
{
	map_free(&r->seen);
	free(r->of_lane);
}

bool whatif_runs_go_on(struct whatif_runs *r, uint16_t lane, uint32_t stack, uint32_t line)
{
	bool is_new, is_same = line && line == r->of_lane[lane].line;
	struct whatif_run *now = &r->of_lane[lane];
	now->line = line;
	if (!line)
		return false;
	uint64_t *last = map_at(&r->seen, (uint64_t)lane << 32 | stack, &is_new);
	bool goes_on = is_same && *last != now->number;
	if (!goes_on)
		now->number = ++r->n;
	*last = now->number;
	return goes_on;
}

/*
 * A changed line runs once for several successive calls if the site of these calls runs once
 * (IS_OF_RUN). Their site may be a line in a function that the changed line calls.
 */
void whatif_cut_runs(struct whatif *w, struct whatif_place *place)
{
	struct whatif_runs runs;
	whatif_runs_open(&runs, &w->replay);
	for (uint32_t i = 0; i < w->replay.ops.n; i++) {
		const struct replay_op *op = &w->replay.ops.at[i];
		if (op->role == ROLE_ORPHAN)
			continue;
		bool is_here = whatif_is_here(place, whatif_call(w, i)),
		     goes_on =
			     whatif_runs_go_on(&runs, op->lane, whatif_call(w, i)->stack, is_here);
		if (is_here && (goes_on || w->traits[i] & IS_OF_RUN) && op->anchor == REPLAY_NONE)
			w->edit.cut_ns[i] = op->gap_ns;
	}
	whatif_runs_close(&runs);
}

bool whatif_is_within(const struct whatif *w, uint32_t op)
{
	uint32_t last = w->before[op];
	return last != REPLAY_NONE && w->site[last] == w->site[op] &&
	       (w->traits[op] & IS_OF_RUN || host_share_is_library(&w->share, last, op));
}
