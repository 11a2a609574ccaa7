/*
 * Recording makes every call dearer: its stack is walked, and CUPTI asks for the times of its work. Where the device binds, that is not seen; where
 * the host does, it is in the step, and it would stay in the gain of a change behind which the device binds: on an H100 a line that costs
 * 1.21 ms was promised 1.60, all of the difference what recording cost. So calls are made cheaper, by the same for each, until the steps take what they
 * do where nothing is recorded.
 */
#include "core/whatif/replay.h"

/* Of the step; nearer is not measured either. */
#define NEAR_ENOUGH 0.002

/* Of the cost that was seen: dearer calls that explain less of it are not what it is. */
#define EXPLAINED 0.33

enum {
	PLAYS_MOST = 5,
	/* Calls behind which the device was at work hide what they cost: so many times the seen share. Beyond that it is something
	 * else than calls that takes longer: each gets the seen share, and the rest stays. */
	TIMES_MOST = 3,
};

static float take(float *from, float most)
{
	float there = *from > 0 ? *from : 0, part = there < most ? there : most;
	*from -= part;
	return part;
}

/* A call's times as they were recorded. */
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

/* From the way to the call first: what profrun does lies there. */
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
	double plain = each, most = each * TIMES_MOST, above = 0,
	       above_ns = played_ns; /* nearest of those with longer steps */
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
