/* Advice, with its savings by the replay. */
#include "core/analysis/inner_line.h"
#include "core/symbols/stack_about.h"
#include "core/util/path.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

enum {
	SET_MOST = 8, /* waits played together: those that block longest */
	NAMED_MOST = 3,
};

static const double kept = 0.95; /* a wait is dropped from a set if the rest saves this share */
static const double spread_most = 0.5; /* share of the mean: a wider range of savings is reported */
static const double copy_share = 0.10; /* share of the step that copies without cost must save */

/* Adds the range of savings if steps differ so much that the mean alone says little. */
static void say_range(struct finding_advice *a)
{
	size_t used = strlen(a->why);
	if (a->high_ms - a->low_ms > spread_most * a->expected_ms && used < sizeof(a->why))
		snprintf(a->why + used, sizeof(a->why) - used,
			 "; steps differ: it wins from %.2f to %.2f ms", a->low_ms, a->high_ms);
}

static const struct frame *top_inner(const struct judge *j, uint32_t site);

static void say_rare(struct finding_advice *a, uint32_t steps)
{
	size_t used = strlen(a->why);
	if (used < sizeof(a->why))
		snprintf(a->why + used, sizeof(a->why) - used,
			 "; in few steps: %u of %u, %.2f ms each, told as the mean of all",
			 a->rare_steps, steps, a->expected_ms * steps / a->rare_steps);
}

static uint8_t cause_of(const struct whatif_change *change)
{
	static const uint8_t free[WHATIF_FREES_N] = {
		[WHATIF_FREE_LAUNCH] = VERDICT_CPU,
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
	case WHATIF_PAUSE:
	case WHATIF_ONE_LAUNCH:
		return VERDICT_CPU;
	default:
		return VERDICT_SYNC;
	}
}

void advise(struct judge *j, uint32_t site, const struct whatif_change *changes, size_t n,
	    const char *what, const char *why, ...)
{
	struct whatif_result result;
	va_list args;
	if (whatif_play(&j->w, changes, n, &result, NULL) ||
	    (result.rare_steps && result.gain_ms < judge_worth_ms_of(result.mean_ms)))
		return;
	struct finding_advice advice = { .site = site,
					 .cause = cause_of(&changes[0]),
					 .expected_ms = result.gain_ms,
					 .low_ms = fmax(0, result.low_ms),
					 .high_ms = fmax(0, result.high_ms),
					 .rare_steps = result.rare_steps,
					 .first_change = (uint32_t)j->advised.n,
					 .n_changes = (uint32_t)n };
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

/* ---- Where the last play saved most ---- */

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
		ns += (double)j->w.replay.works.at[i].duration_ns *
		      (1 - (double)j->w.edit.scale[i]);
	return ns / 1e6 / whatif_gain_steps(&j->w) * j->w.undisturbed_share;
}

/* Returns true for calls of a data loader's own thread, which works for the user's line that comes
 * next. */
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
 * Returns the site from whose calls the last play took most time; with `counts`, only calls that it
 * accepts count. While a loader's thread waits for a batch, the line that takes the batch waits for
 * that thread, and the same time would count twice. So a thread's time counts for a line only if
 * lines waited much less.
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
		own[site] += advice_taken_ms(j, i);
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

/* Host work without CUDA calls has no line of its own: it lies between this line and the line whose
 * calls come before most of it. */
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
	if (top && top != site && after_ms[top] * 2 > all_ms)
		snprintf(to, bytes, "behind the calls of %s:%u and up to those of this line",
			 path_base(s->file), s->line);
	else
		snprintf(to, bytes, "before the calls of this line");
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

/* Returns the library's line, under the user's line that makes most launches, from which the last
 * play took more than half of what it took there; NULL: none. */
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

/*
 * Memory is allocated again because it was freed. So if freeing takes a notable part, its line is
 * the cause, wherever memory is allocated: after an empty_cache(), any operator may have to
 * allocate.
 */
static uint32_t top_memory_site(const struct judge *j, double *per_step_ms)
{
	const double least_share = 1.0 / 4;
	double freed_ms, top_ms;
	uint32_t freed = top_site_of(j, is_free, &freed_ms), top = advice_top_site(j, &top_ms);
	bool is_cause = freed && freed_ms >= least_share * top_ms;
	*per_step_ms = is_cause ? freed_ms : top_ms;
	return is_cause ? freed : top;
}

/* ---- Waits ---- */

static const struct {
	const char *what, *why;
} fixes[SYNC_KINDS_N] = {
	[SYNC_ITEM] = { "keep the value on the device, or read it less often",
			"the host reads a value here and waits for everything before it" },
	[SYNC_EXPLICIT] = { "delete the synchronisation", "the host waits for the device and gives "
							  "it nothing to do" },
	[SYNC_COPY] = { "copy from pinned memory without waiting (non_blocking=True)",
			"the host waits for the copy to be done" },
	[SYNC_EVENT] = { "wait for the event later, or let the stream wait for it",
			 "the host waits for the event" },
	[SYNC_ALLOC] = { "keep the memory instead of freeing and allocating it", "freeing waits "
										 "for the device" },
	[SYNC_LIBRARY] = { "avoid the library's wait: a workspace or handle of one's own",
			   "a library waits for the device here" },
};

/*
 * Returns the advice for a wait. What is copied from the device cannot come from pinned memory. A
 * few numbers, or tensors made of Python's numbers, are mostly the same in every step, and
 * torch.tensor() always waits.
 */
static const char *fix_for(const struct judge *j, const struct finding_sync *s)
{
	const struct timeline *t = j->w.timeline;
	bool is_any = false, is_small = true;
	if (s->kind == SYNC_COPY && s->is_from_device)
		return "copy into pinned memory without waiting, and look at it a step later";
	for (size_t i = 0; s->kind == SYNC_COPY && i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		if (c->site != s->site || c->category != CAT_MEMCPY || c->copy == COPY_D2H)
			continue;
		is_any = true;
		is_small &= c->bytes < TIMELINE_BATCH_BYTES || c->about & ABOUT_NUMBERS;
	}
	if (is_any && is_small)
		return "make it once, before the loop; what changes: on the device, or from "
		       "pinned memory";
	/* an operator that sorts or counts has no handle or workspace that one could replace */
	return s->op ? "use an operator that does not wait, or this one less often"
		     : fixes[s->kind].what;
}

static const char *reason_of(char *text, size_t size, const struct finding_sync *s)
{
	if (!s->op)
		return fixes[s->kind].why;
	snprintf(text, size, "%s waits for the device here, for its own sake", s->op);
	return text;
}

static bool is_first_of_site(const struct findings *f, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (f->syncs.at[i].site == f->syncs.at[row].site &&
		    inner_line_same(f->syncs.at[i].inner, f->syncs.at[row].inner))
			return false;
	return f->syncs.at[row].site != 0;
}

static void advise_waits(struct judge *j)
{
	char times[TIMES_BYTES], reason[REASON_BYTES];
	for (size_t i = 0; i < j->f->syncs.n; i++) {
		const struct finding_sync *s = &j->f->syncs.at[i];
		const struct whatif_change change = { .kind = WHATIF_WAIT,
						      .site = s->site,
						      .inner = s->inner };
		if (s->kind == SYNC_ALLOC || s->kind >= SYNC_KINDS_N || !is_first_of_site(j->f, i))
			continue;
		struct whatif_result wait = { .gain_ms = s->recoverable_ms };
		if (judge_has_other_kind(j->f, i) || wait.gain_ms >= judge_worth_ms(j))
			whatif_play(&j->w, &change, 1, &wait, NULL);
		if (wait.gain_ms < judge_worth_ms(j))
			continue;
		bool is_of_others = !wait.is_of_mean && j->w.n_typical < j->w.replay.n_steps;
		advise(j, s->site, &change, 1, fix_for(j, s),
		       "%s: %s a step, blocked %.2f ms%s; with the line gone as a whole "
		       "%.2f ms less",
		       reason_of(reason, sizeof(reason), s),
		       advice_times(times, sizeof(times), s->per_step), s->blocked_ms,
		       is_of_others ? " (all recorded)" : "", judge_line_gain_ms(j, change, &wait));
	}
}

/* Waits that hide each other: without one of them little is saved, without all of them much. */
struct set {
	struct whatif_change changes[SET_MOST];
	size_t n;
	double gain_ms, single_ms; /* of all together; of the best one alone */
};

static void collect_set(struct judge *j, struct set *set)
{
	for (size_t i = 0; i < j->f->syncs.n && set->n < SET_MOST; i++) {
		const struct finding_sync *s = &j->f->syncs.at[i];
		if (s->kind == SYNC_ALLOC || !is_first_of_site(j->f, i))
			continue;
		set->changes[set->n++] = (struct whatif_change){ .kind = WHATIF_WAIT,
								 .site = s->site,
								 .inner = s->inner };
		set->single_ms = fmax(set->single_ms, s->recoverable_ms);
	}
	set->gain_ms = judge_gain_ms(j, set->changes, set->n);
}

/* Drops waits that add little to the set, first those that block least. */
static void thin_out(struct judge *j, struct set *set)
{
	for (size_t i = set->n; i-- && set->n > 2;) {
		struct whatif_change rest[SET_MOST];
		size_t n = 0;
		for (size_t k = 0; k < set->n; k++)
			if (k != i)
				rest[n++] = set->changes[k];
		double gain = judge_gain_ms(j, rest, n);
		if (gain < kept * set->gain_ms)
			continue;
		memcpy(set->changes, rest, n * sizeof(*rest));
		set->n = n;
	}
}

static void name_lines(const struct judge *j, const struct set *set, char *to, size_t room)
{
	size_t used = 0;
	for (size_t i = 0; i < set->n && i < NAMED_MOST && used < room; i++) {
		const struct site *s = frames_site_at(j->w.timeline->frames, set->changes[i].site);
		int n = snprintf(to + used, room - used, "%s%s:%u", i ? ", " : "",
				 path_base(s->file), s->line);
		used += n > 0 ? (size_t)n : 0;
	}
	if (set->n > NAMED_MOST && used < room)
		snprintf(to + used, room - used, " and %zu more", set->n - NAMED_MOST);
}

static void advise_sets(struct judge *j)
{
	struct set set = { .n = 0 };
	char lines[120] = "";
	collect_set(j, &set);
	if (set.n < 2 || set.gain_ms - set.single_ms < judge_worth_ms(j))
		return;
	double sum = 0;
	thin_out(j, &set);
	for (size_t i = 0; i < set.n; i++)
		sum += judge_gain_ms(j, &set.changes[i], 1);
	set.gain_ms = judge_gain_ms(j, set.changes, set.n);
	if (set.gain_ms - sum < judge_worth_ms(j))
		return;
	name_lines(j, &set, lines, sizeof(lines));
	advise(j, set.changes[0].site, set.changes, set.n,
	       "do without these waits together: each hides behind the others",
	       "%s: one at a time they win %.2f ms", lines, sum);
}

/* ---- Causes with several lines ---- */

struct general {
	struct whatif_change change;
	double least_share; /* share of the step */
	bool is_of_copies;
	const char *what, *why;
	uint32_t (*site)(const struct judge *j, double *per_step_ms);
	/* Replaces `what` if all that the line copies to the device is pinned already; NULL: it
	 * does not. */
	const char *what_if_pinned;
};

static bool is_from_pinned(const struct judge *j, uint32_t site)
{
	const struct timeline *t = j->w.timeline;
	bool is_any = false;
	for (size_t i = 0; i < t->works.n; i++) {
		const struct timeline_work *x = &t->works.at[i];
		if (x->kind != WORK_MEMCPY || x->call == MODEL_NO_CALL ||
		    t->calls.at[x->call].site != site)
			continue;
		if (x->source == HOST_PAGEABLE)
			return false;
		is_any |= x->source == HOST_PINNED;
	}
	return is_any;
}

/* A wait for a copy is fixed with the copy, so only the advice that saves more is kept. Returns
 * true if that is the existing one; otherwise removes it. */
static bool yields_to_existing(struct judge *j, uint32_t site, double gain_ms)
{
	for (size_t i = 0; i < j->f->advice.n; i++) {
		struct finding_advice *a = &j->f->advice.at[i];
		if (a->site != site || a->n_changes != 1)
			continue;
		if (a->expected_ms + judge_worth_ms(j) > gain_ms)
			return true;
		*a = j->f->advice.at[--j->f->advice.n];
		return false;
	}
	return false;
}

static void advise_general(struct judge *j, const struct general *g)
{
	double least_ms = fmax(judge_worth_ms(j), g->least_share * j->step_ms), here_ms;
	double gain_ms = judge_gain_ms(j, &g->change, 1);
	if (gain_ms < least_ms)
		return;
	uint32_t site = g->site(j, &here_ms); /* of this play */
	if (!site || (g->is_of_copies && yields_to_existing(j, site, gain_ms)))
		return;
	const char *what = g->what_if_pinned && is_from_pinned(j, site) ? g->what_if_pinned
									: g->what;
	char before[BEFORE_BYTES];
	bool is_before = g->change.what == WHATIF_FREE_INPUT;
	advise(j, site, &g->change, 1, what, "%s%s; %.2f ms of it here",
	       is_before ? advice_say_before(j, site, before, sizeof(before)) : "", g->why,
	       here_ms);
}

/* Returns true if a host twice as fast saves more than the removal of any single cause, and more
 * than a device twice as fast. */
static bool is_host_larger(const struct judge *j)
{
	double most = j->gpu_half_ms;
	for (int i = 0; i < CAUSES; i++)
		most = fmax(most, j->cause_ms[i]);
	return j->host_half_ms > most;
}

static int by_gain(const void *a, const void *b)
{
	const struct finding_advice *x = a, *y = b;
	return x->expected_ms > y->expected_ms ? -1 : x->expected_ms < y->expected_ms;
}

/* Fills together_ms. A change that is hidden by another one adds nothing. */
static void play_together(struct judge *j)
{
	VEC(struct whatif_change) all = { 0 };
	double sum_ms = 0, most_ms = 0;
	for (size_t i = 0; i < j->f->advice.n; i++) {
		struct finding_advice *a = &j->f->advice.at[i];
		for (uint32_t k = 0; k < a->n_changes && !a->rare_steps; k++)
			vec_push(&all, j->advised.at[a->first_change + k]);
		if (a->rare_steps)
			continue;
		sum_ms += a->expected_ms;
		most_ms = fmax(fmax(most_ms, a->expected_ms),
			       judge_typical_gain_ms(j, all.at, all.n));
		a->together_ms = most_ms = fmin(most_ms, sum_ms);
	}
	vec_free(&all);
}

void advice_fill(struct judge *j)
{
	static const struct general memory = {
		{ .kind = WHATIF_FREE, .what = WHATIF_FREE_ALLOC },
		0,
		false,
		"keep the memory instead of allocating and freeing it every step",
		"allocating and freeing take the host's time, and freeing waits for the device",
		top_memory_site,
		NULL,
	};
	static const struct general input = {
		{ .kind = WHATIF_FREE, .what = WHATIF_FREE_INPUT },
		0,
		false,
		"make the next batch while the device works: more loader processes, prefetching",
		" the step waits for its input",
		advice_top_site,
		NULL,
	};
	static const struct general copies = {
		{ .kind = WHATIF_FREE, .what = WHATIF_FREE_COPY },
		copy_share,
		true,
		"copy less, from pinned memory, on a stream of its own",
		"copies take their time in every step",
		advice_top_site,
		"copy less, or on a stream of its own",
	};
	advise_waits(j);
	advise_sets(j);
	advise_streams(j);
	advise_general(j, &memory);
	advise_general(j, &input);
	advise_general(j, &copies);
	if (j->f->verdict == VERDICT_CPU || is_host_larger(j)) {
		advise_pause(j);
		advise_launches(j);
	}
	if (j->f->advice.n)
		qsort(j->f->advice.at, j->f->advice.n, sizeof(*j->f->advice.at), by_gain);
	play_together(j);
}
