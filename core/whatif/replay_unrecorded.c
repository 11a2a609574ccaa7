/*
 * Removes the recording overhead from the model. Recording makes every call slower: its stack is
 * walked, and CUPTI collects the times of its work. If the device is the bottleneck this does not
 * show. If the host is, it is part of the step, and it would be part of the gain of a change that
 * makes the device the bottleneck: on an H100 the savings of a line that costs 1.21 ms were
 * predicted as 1.60 ms, and all of the difference was recording overhead. So all calls are
 * shortened by the same time, until the steps take as long as unrecorded ones.
 */
#include "core/whatif/replay.h"

/* Share of the step; measurements are no more precise. */
#define NEAR_ENOUGH 0.002

/* Share of the observed overhead: if slower calls explain less of it, they are not the cause. */
#define EXPLAINED 0.33

enum {
	PLAYS_MOST = 5,
	/*
	 * The overhead of calls made while the device was busy is hidden, so a call's overhead may
	 * be this many times its share of the observed one. If that is not enough, something other
	 * than calls takes longer: then each call is shortened by its share, and the rest stays.
	 */
	TIMES_MOST = 3,
};

static float take(float *from, float most)
{
	float there = *from > 0 ? *from : 0, part = there < most ? there : most;
	*from -= part;
	return part;
}

/* A call's times as recorded. */
struct recorded {
	float gap_ns, cost_ns;
};

static struct recorded *recorded_times(const struct replay *r)
{
	struct recorded *recorded = mem_zero(r->ops.n * sizeof(*recorded));
	for (uint32_t i = 0; i < r->ops.n; i++)
		recorded[i] = (struct recorded){ r->ops.at[i].gap_ns, r->ops.at[i].cost_ns };
	return recorded;
}

/* Shortens the gap before the call first, because profrun does its work there. */
static void cheapen(struct replay *r, const struct recorded *recorded, float each_ns)
{
	for (uint32_t i = 0; i < r->ops.n; i++) {
		struct replay_op *op = &r->ops.at[i];
		if (op->role == ROLE_ORPHAN)
			continue;
		op->gap_ns = recorded[i].gap_ns;
		op->cost_ns = recorded[i].cost_ns;
		float left = each_ns - take(&op->gap_ns, each_ns);
		take(&op->cost_ns, left);
	}
}

static bool is_near(double ns, double target)
{
	return ns - target < NEAR_ENOUGH * target && target - ns < NEAR_ENOUGH * target;
}

double replay_unrecord(struct replay *r, double played_ns, double off_ns)
{
	if (!(off_ns > 0) || !r->ops.n)
		return played_ns;
	double target = played_ns - off_ns, now = played_ns, slope = 1;
	double each = (played_ns - target) * r->n_steps / (double)r->ops.n;
	/* `above`: the largest cut per call so far that leaves the steps too long; they then take
	 * `above_ns`. */
	double plain = each, most = each * TIMES_MOST, above = 0, above_ns = played_ns;
	struct recorded *recorded = recorded_times(r);
	for (int i = 0; i < PLAYS_MOST && slope > 0 && above < most; i++) {
		cheapen(r, recorded, (float)each);
		now = replay_play(r, NULL);
		if (is_near(now, target))
			break;
		slope = (above_ns - now) / (each - above);
		if (now > target) {
			above = each;
			above_ns = now;
		}
		each = above + (above_ns - target) / slope;
		each = each < most ? each : most;
	}
	if (played_ns - now < (played_ns - target) * EXPLAINED) {
		cheapen(r, recorded, (float)plain);
		now = replay_play(r, NULL);
	}
	free(recorded);
	return now;
}
