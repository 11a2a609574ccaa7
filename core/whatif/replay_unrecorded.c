/*
 * Removes from the model what would not be there if the steps were not recorded and nothing else
 * loaded the machine: the times in which threads waited for a CPU, and the recording overhead.
 *
 * Recording makes every call slower, because profrun walks the call's stack and CUPTI collects the
 * times of the call's GPU work. If the device is the bottleneck, steps do not get longer. If the
 * host is the bottleneck, the overhead is part of the step time. A change that makes the device the
 * bottleneck would then seem to save the overhead, too. On an H100, a line that costs 1.21 ms had
 * predicted savings of 1.60 ms, and the whole difference was recording overhead. Therefore all
 * calls are shortened by the same time, until the steps take as long as unrecorded steps.
 */
#include "core/whatif/replay.h"

/* The search ends when the step time differs from the target by less than this share of the
 * target. Measured step times are no more precise. */
#define NEAR_ENOUGH 0.002

/* If shorter calls remove less than this share of the observed overhead, slower calls are not its
 * cause. */
#define EXPLAINED 0.33

enum {
	PLAYS_MOST = 5,
	/*
	 * A call's share is the observed overhead divided by the number of calls. The real overhead
	 * of a call may be larger, because the overhead of calls made while the device is busy
	 * makes no step longer. A call is shortened by at most TIMES_MOST times its share. If that
	 * is far too little (EXPLAINED), something other than the calls takes longer. Then each
	 * call is only shortened by its share, and the rest of the overhead stays.
	 */
	TIMES_MOST = 3,
};

/* Subtracts up to `most` from *from, but not more than is there. Returns what was subtracted. */
static float take(float *from, float most)
{
	float there = *from > 0 ? *from : 0, part = there < most ? there : most;
	*from -= part;
	return part;
}

bool replay_remove_waits(struct replay *r)
{
	bool is_any = false;
	for (uint32_t i = 0; i < r->ops.n; i++) {
		struct replay_op *op = &r->ops.at[i];
		bool waits = op->role == ROLE_WAIT_WORK || op->role == ROLE_WAIT_STREAM ||
			     op->role == ROLE_WAIT_EVENT || op->role == ROLE_WAIT_DEVICE;
		is_any |= op->gap_waited_ns > 0 || op->call_waited_ns > 0;
		take(&op->gap_ns, op->gap_waited_ns);
		take(waits ? &op->exit_ns : &op->cost_ns, op->call_waited_ns);
	}
	return is_any;
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

/* Shortens each call by `each_ns`, relative to its recorded times. Takes the time from the gap
 * before the call first, because profrun does its own work there, and the rest from the call. */
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
	/* `each`: the cut per call to try next. `above`: the largest cut so far that left the steps
	 * too long. `above_ns`: the step time with that cut. `plain`: each call's share. */
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
