#include "core/whatif/replay_anchors.h"

/* A gap of the main lane is a wait for another lane if it takes more than PAUSE_LEAST of the step
 * time and ends less than NEAR_NS after a call of the other lane has returned. */
#define PAUSE_LEAST 0.2
#define NEAR_NS	    100e3

static const struct timeline_call *call_of(const struct replay *r, uint32_t op)
{
	return &r->timeline->calls.at[r->ops.at[op].call];
}

static void set_anchor(struct replay *r, uint32_t op, uint32_t anchor)
{
	r->ops.at[op].anchor = anchor;
	r->ops.at[op].gap_ns = (float)(call_of(r, op)->begin_ns - call_of(r, anchor)->end_ns);
}

struct anchors {
	struct replay *r;
	uint32_t n_lanes;
	uint32_t *longest; /* by lane: the op after the lane's longest gap in the current step */
	/* By lane: the main lane's last op that had returned before the op `longest` began. */
	uint32_t *longest_anchor;
	/* The main lane's last two ops, newest first. The newest call may not have returned when a
	 * call of another lane begins. */
	uint32_t last_main[2];
	uint32_t last_other; /* the last op of any other lane */
};

static void close_step(struct anchors *a)
{
	for (uint32_t lane = 1; lane < a->n_lanes; lane++) {
		if (a->longest[lane] != REPLAY_NONE)
			set_anchor(a->r, a->longest[lane], a->longest_anchor[lane]);
		a->longest[lane] = REPLAY_NONE;
	}
}

/* Returns the main lane's last op that had returned at `ns`, or REPLAY_NONE. */
static uint32_t main_before(const struct anchors *a, uint64_t ns)
{
	for (int k = 0; k < 2; k++)
		if (a->last_main[k] != REPLAY_NONE && call_of(a->r, a->last_main[k])->end_ns <= ns)
			return a->last_main[k];
	return REPLAY_NONE;
}

static void see_other(struct anchors *a, uint32_t i)
{
	struct replay_op *op = &a->r->ops.at[i];
	uint32_t *longest = &a->longest[op->lane],
		 before = main_before(a, call_of(a->r, i)->begin_ns);
	if (before != REPLAY_NONE &&
	    (*longest == REPLAY_NONE || op->gap_ns > a->r->ops.at[*longest].gap_ns)) {
		*longest = i;
		a->longest_anchor[op->lane] = before;
	}
	a->last_other = i;
}

static void see_main(struct anchors *a, uint32_t i, double step_ns)
{
	const struct replay_op *op = &a->r->ops.at[i];
	if (a->last_other != REPLAY_NONE && (double)op->gap_ns > PAUSE_LEAST * step_ns) {
		double since = (double)(int64_t)(call_of(a->r, i)->begin_ns -
						 call_of(a->r, a->last_other)->end_ns);
		if (since >= 0 && since < NEAR_NS && since < (double)op->gap_ns)
			set_anchor(a->r, i, a->last_other);
	}
	a->last_main[1] = a->last_main[0];
	a->last_main[0] = i;
}

static void see_run(struct anchors *a, const struct replay_run *run)
{
	const struct replay *r = a->r;
	uint32_t step = REPLAY_NONE;
	for (uint32_t i = run->first_op; i < run->first_op + run->n_ops; i++) {
		if (r->ops.at[i].call == REPLAY_NONE)
			continue;
		if (call_of(r, i)->step != step)
			close_step(a);
		step = call_of(r, i)->step;
		const struct timeline_step *s = &r->timeline->steps.at[step];
		if (r->ops.at[i].lane)
			see_other(a, i);
		else
			see_main(a, i, (double)(s->end_ns - s->begin_ns));
	}
	close_step(a);
}

void replay_find_anchors(struct replay *r)
{
	struct anchors a = { .r = r, .n_lanes = r->n_lanes, .last_other = REPLAY_NONE };
	a.longest = replay_no_ops(r);
	a.longest_anchor = replay_no_ops(r);
	for (size_t k = 0; k < r->runs.n; k++) {
		memset(a.last_main, 0xff, sizeof(a.last_main));
		a.last_other = REPLAY_NONE;
		see_run(&a, &r->runs.at[k]);
	}
	free(a.longest);
	free(a.longest_anchor);
}
