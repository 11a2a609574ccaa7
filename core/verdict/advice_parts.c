/* Functions for all kinds of advice: they add advice with the range of its savings, and find the
 * lines in which a change saved time. */
#include "core/analysis/inner_line.h"
#include "core/symbols/site_name.h"
#include "core/symbols/stack_about.h"
#include "core/util/ms_digits.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

/* The range of savings is reported if it is wider than this share of the mean. */
static const double spread_most = 0.5;

/* Appends the range of savings to `why`, if steps differ so much that the mean alone
 * says little. */
static void say_range(struct finding_advice *a)
{
	size_t used = strlen(a->why);
	if (a->high_ms - a->low_ms > spread_most * a->expected_ms && used < sizeof(a->why))
		snprintf(a->why + used, sizeof(a->why) - used,
			 "; savings vary by step, from %.*f to %.*f ms", MS(a->low_ms),
			 MS(a->high_ms));
}

static const struct frame *top_inner(const struct judge *j, uint32_t site);

static void say_rare(struct finding_advice *a, uint32_t steps)
{
	size_t used = strlen(a->why);
	if (used < sizeof(a->why))
		snprintf(a->why + used, sizeof(a->why) - used,
			 "; saves time in only %u of %u steps (%.*f ms in each); the savings shown "
			 "are averaged over all steps",
			 a->rare_steps, steps, MS(a->expected_ms * steps / a->rare_steps));
}

/* Returns the verdict that the wait of a line belongs to, by the kind of its longest wait. */
static uint8_t cause_of_wait(const struct judge *j, const struct whatif_change *change)
{
	for (size_t i = 0; i < j->f->syncs.n; i++) {
		const struct finding_sync *s = &j->f->syncs.at[i];
		if (s->site != change->site || !inner_line_same(s->inner, change->inner))
			continue;
		return s->kind == SYNC_COPY && !s->is_from_device ? VERDICT_COPY : VERDICT_SYNC;
	}
	return VERDICT_SYNC;
}

static uint8_t cause_of(const struct judge *j, const struct whatif_change *change)
{
	static const uint8_t free[WHATIF_FREES_N] = {
		[WHATIF_FREE_LAUNCH] = VERDICT_LAUNCH,
		[WHATIF_FREE_HOST] = VERDICT_HOST,
		[WHATIF_FREE_INPUT] = VERDICT_INPUT,
		[WHATIF_FREE_ALLOC] = VERDICT_MEMORY,
		[WHATIF_FREE_COPY] = VERDICT_COPY,
		[WHATIF_FREE_COLLECTIVE] = VERDICT_COLLECTIVE,
		[WHATIF_FREE_SYNC] = VERDICT_SYNC,
	};
	switch (change->kind) {
	case WHATIF_FREE:
		return free[change->what];
	case WHATIF_KERNEL:
		return VERDICT_GPU;
	case WHATIF_ASIDE:
		return VERDICT_COPY;
	case WHATIF_PAUSE:
	case WHATIF_HOST_NODES:
		return VERDICT_HOST;
	case WHATIF_ONE_LAUNCH:
		return VERDICT_LAUNCH;
	default:
		return cause_of_wait(j, change);
	}
}

/* Resamples the gain of the last play. */
static struct resampled resample_gain(const struct judge *j, const struct whatif_result *result,
				      uint8_t cause)
{
	uint32_t n;
	double *ms = judge_step_gains(j, result->is_of_mean, &n);
	struct resampled drawn = { .steps = ms,
				   .value = result->gain_ms,
				   .run_error = cause == VERDICT_GPU ? 0 : j->run_error,
				   .limit = result->is_of_mean ? j->f->mean_ms : j->step_ms };
	resample(&drawn, 1, n);
	free(ms);
	drawn.steps = NULL;
	return drawn;
}

void advise(struct judge *j, uint32_t site, const struct whatif_change *changes, size_t n,
	    const char *what, const char *why, ...)
{
	struct whatif_result result;
	va_list args;
	if (whatif_play(&j->w, changes, n, &result, NULL) ||
	    (result.rare_steps ? result.gain_ms < judge_worth_ms_of(result.mean_ms)
			       : result.gain_ms < j->f->median_error_ms)) /* not to be seen */
		return;
	struct resampled drawn = resample_gain(j, &result, cause_of(j, &changes[0]));
	struct finding_advice advice = { .site = site,
					 .cause = cause_of(j, &changes[0]),
					 .expected_ms = result.gain_ms,
					 .low_ms = fmax(0, result.low_ms),
					 .high_ms = fmax(0, result.high_ms),
					 .rare_steps = result.rare_steps,
					 .first_change = (uint32_t)j->advised.n,
					 .n_changes = (uint32_t)n };
	resampled_interval(&drawn, &advice.interval_low_ms, &advice.interval_high_ms);
	advice.interval_low_ms = fmax(0, advice.interval_low_ms);
	for (size_t i = 0; i < n; i++)
		vec_push(&j->advised, changes[i]);
	va_start(args, why);
	vsnprintf(advice.why, sizeof(advice.why), why, args);
	va_end(args);
	if (advice.rare_steps)
		say_rare(&advice, j->w.replay.n_steps);
	else
		say_range(&advice);
	advice.inner = top_inner(j, site);
	snprintf(advice.what, sizeof(advice.what), "%s", what);
	vec_push(&j->f->advice, advice);
}

char *advice_times(char *to, size_t bytes, double per_step)
{
	char number[TIMES_BYTES - 8];
	snprintf(number, sizeof(number), "%.4g", per_step);
	bool is_once = !strcmp(number, "1");
	snprintf(to, bytes, "%s%s", is_once ? "once" : number, is_once ? "" : " times");
	return to;
}

/* ---- Lines in which the last play saved most ---- */

/* Returns the time, in ns, that the last play removed from a piece of GPU work and from the gap
 * before it. */
static double taken_of_work(const struct judge *j, uint32_t work)
{
	const struct replay_work *w = &j->w.replay.works.at[work];
	uint8_t node = j->w.edit.node[work];
	double scale = node & NODE_GONE ? 0 : (double)j->w.edit.scale[work];
	bool is_gap = node && w->is_chained && !w->overlaps;
	double gap_ns = is_gap ? (double)w->after_ns : 0;
	return (double)w->duration_ns * (1 - scale) + (node == NODE_HALF_GAP ? gap_ns / 2 : gap_ns);
}

static double per_step_ms(const struct judge *j, double ns)
{
	return ns / 1e6 / whatif_gain_steps(&j->w) * j->w.undisturbed_share;
}

double advice_taken_ms(const struct judge *j, uint32_t op)
{
	const struct replay_op *o = &j->w.replay.ops.at[op];
	const struct timeline_call *c = &j->w.timeline->calls.at[o->call];
	double ns = j->w.edit.cut_ns[op];
	if (!whatif_gain_covers(&j->w, op))
		return 0;
	if (j->w.edit.op[op] & (EDIT_GONE | EDIT_NO_WAIT))
		ns += (double)(c->end_ns - c->begin_ns);
	else if (j->w.edit.op[op] & EDIT_NO_COST)
		ns += o->cost_ns;
	for (uint32_t i = o->first_work; i < o->first_work + o->n_work; i++)
		ns += taken_of_work(j, i);
	return per_step_ms(j, ns);
}

/* Adds the time that the last play removed from the op's captured work to the lines that captured
 * it. Returns the rest of advice_taken_ms(), which belongs to the op's call. */
static double share_captured(const struct judge *j, uint32_t op, double *of_site, uint32_t n_sites)
{
	const struct replay_op *o = &j->w.replay.ops.at[op];
	const struct timeline *t = j->w.timeline;
	double rest_ms = advice_taken_ms(j, op);
	for (uint32_t i = o->first_work; i < o->first_work + o->n_work && rest_ms > 0; i++) {
		const struct timeline_work *w = &t->works.at[j->w.replay.works.at[i].work];
		double ms = per_step_ms(j, taken_of_work(j, i));
		uint32_t site = timeline_line(t, w);
		if (w->origin == MODEL_NO_CALL || site > n_sites)
			continue;
		of_site[site] += ms;
		rest_ms -= ms;
	}
	return fmax(0, rest_ms);
}

/* Returns true for calls of a data loader's own thread. This thread works for the user's line that
 * makes the next call. */
static bool is_helper(const struct judge *j, uint32_t call)
{
	const struct timeline_call *c = &j->w.timeline->calls.at[call];
	return (c->about & ABOUT_INPUT) && !frames_site_at(j->w.timeline->frames, c->site)->is_user;
}

static bool is_free(const struct timeline_call *c)
{
	return c->category == CAT_FREE;
}

static uint32_t largest(const double *sum, uint32_t n_sites)
{
	uint32_t top = 0;
	for (uint32_t i = 1; i <= n_sites; i++)
		if (!top || sum[i] > sum[top])
			top = i;
	return top;
}

/*
 * Returns the site from whose calls the last play removed the most time, and that time in
 * `per_step_ms`; 0: none. If `counts` is set, only calls that it accepts count.
 *
 * While a loader's thread waits for data, the line that takes the batch waits for that thread, so
 * the same time could count twice. The time of loader threads therefore counts for the lines that
 * they work for only if the lines' own waits are much shorter.
 */
static uint32_t top_site_of(const struct judge *j, bool (*counts)(const struct timeline_call *),
			    double *per_step_ms)
{
	const double least_share = 1.0 / 4;
	uint32_t n_sites = frames_n_sites(j->w.timeline->frames);
	double *own = mem_zero((n_sites + 1) * sizeof(*own)),
	       *for_them = mem_zero((n_sites + 1) * sizeof(*for_them)), helpers_ms = 0;
	for (uint32_t i = 0; i < j->w.replay.ops.n; i++) {
		uint32_t call = j->w.replay.ops.at[i].call;
		uint32_t site = call == REPLAY_NONE	  ? 0
				: j->w.edit.cut_ns[i] > 0 ? whatif_pause_site(&j->w, i)
							  : j->w.timeline->calls.at[call].site;
		if (!site || site > n_sites || (counts && !counts(&j->w.timeline->calls.at[call])))
			continue;
		if (is_helper(j, call)) {
			helpers_ms += advice_taken_ms(j, i);
			continue;
		}
		own[site] += share_captured(j, i, own, n_sites);
		for_them[site] += helpers_ms;
		helpers_ms = 0;
	}
	uint32_t top = largest(own, n_sites), helped = largest(for_them, n_sites);
	const double *sum = own[top] >= least_share * for_them[helped] ? own : for_them;
	top = sum == own ? top : helped;
	*per_step_ms = sum[top];
	if (sum[top] <= 0)
		top = 0;
	free(own);
	free(for_them);
	return top;
}

uint32_t advice_top_site(const struct judge *j, double *per_step_ms)
{
	return top_site_of(j, NULL, per_step_ms);
}

/*
 * The line of CPU work without CUDA calls is not known. The work lies between the calls before it
 * and this line. The line of these calls is named if more than half of the work comes after them.
 */
char *advice_say_before(const struct judge *j, uint32_t site, char *to, size_t bytes)
{
	struct frames *frames = j->w.timeline->frames;
	uint32_t n_sites = frames_n_sites(frames);
	double all_ms = 0, *after_ms = mem_zero((n_sites + 1) * sizeof(*after_ms));
	for (uint32_t i = 0; i < j->w.replay.ops.n; i++) {
		uint32_t last = j->w.before[i];
		double ms = j->w.site[i] == site ? advice_taken_ms(j, i) : 0;
		all_ms += ms;
		if (last != REPLAY_NONE && j->w.site[last] <= n_sites)
			after_ms[j->w.site[last]] += ms;
	}
	uint32_t top = largest(after_ms, n_sites);
	const struct site *s = frames_site_at(frames, top);
	char name[SITE_NAME_BYTES];
	if (top && top != site && after_ms[top] * 2 > all_ms)
		snprintf(to, bytes, "between %s and this line", site_name(s, name));
	else
		snprintf(to, bytes, "before this line");
	free(after_ms);
	return to;
}

struct inner_share {
	const struct frame *inner;
	double ms;
};

struct inner_shares {
	VEC(struct inner_share) at;
	double sum_ms;
};

static void add_share(struct inner_shares *s, const struct frame *inner, double ms)
{
	size_t i = 0;
	while (i < s->at.n && !inner_line_same(s->at.at[i].inner, inner))
		i++;
	if (i == s->at.n)
		vec_push(&s->at, (struct inner_share){ .inner = inner });
	s->at.at[i].ms += ms;
	s->sum_ms += ms;
}

/*
 * Returns the library's line that causes more than half of the time that the last play removed from
 * the calls of `site`. NULL: there is none, or `site` is not the user's line that makes most
 * launches (inner_line.h).
 */
static const struct frame *top_inner(const struct judge *j, uint32_t site)
{
	const struct timeline *t = j->w.timeline;
	struct inner_shares shares = { 0 };
	const struct frame *top = NULL;
	if (!site || site != inner_line_site(t))
		return NULL;
	for (uint32_t i = 0; i < j->w.replay.ops.n; i++) {
		uint32_t call = j->w.replay.ops.at[i].call;
		if (call != REPLAY_NONE && t->calls.at[call].site == site)
			add_share(&shares, inner_line_of(t->frames, t->calls.at[call].stack),
				  advice_taken_ms(j, i));
	}
	for (size_t i = 0; i < shares.at.n; i++)
		if (shares.at.at[i].ms * 2 > shares.sum_ms)
			top = shares.at.at[i].inner;
	vec_free(&shares.at);
	return top;
}

uint32_t advice_top_memory_site(const struct judge *j, double *per_step_ms)
{
	const double least_share = 1.0 / 4;
	double freed_ms, top_ms;
	uint32_t freed = top_site_of(j, is_free, &freed_ms), top = advice_top_site(j, &top_ms);
	bool is_cause = freed && freed_ms >= least_share * top_ms;
	*per_step_ms = is_cause ? freed_ms : top_ms;
	return is_cause ? freed : top;
}
