/* Creates the advice. Its savings come from the replay. */
#include "core/analysis/inner_line.h"
#include "core/symbols/phase_rules.h"
#include "core/symbols/site_name.h"
#include "core/symbols/stack_about.h"
#include "core/util/ms_digits.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

enum {
	SET_MOST = 8, /* limit of the waits in a set; those that block longest are taken */
	NAMED_MOST = 3,
};

/* A wait is removed from a set if the other waits keep this share of the set's savings. */
static const double kept = 0.95;
/* Advice on copies requires that copies without cost would save this share of the step. */
static const double copy_share = 0.10;

/* ---- Waits ---- */

static const struct {
	const char *what, *why;
} fixes[SYNC_KINDS_N] = {
	[SYNC_ITEM] = { "keep the value on the GPU, or read it less often",
			"the CPU reads a value from the GPU here and waits for all earlier GPU "
			"work" },
	[SYNC_EXPLICIT] = { "remove the synchronization", "" }, /* the reason names the call */
	[SYNC_COPY] = { "copy asynchronously from pinned memory", "the CPU waits for the copy to "
								  "finish" },
	[SYNC_EVENT] = { "wait for the event later, or use cudaStreamWaitEvent", "the CPU waits "
										 "for the event" },
	[SYNC_ALLOC] = { "reuse the memory instead of freeing and allocating it", "freeing waits "
										  "for the GPU" },
	[SYNC_LIBRARY] = { "avoid the library's synchronization: pass it your own workspace or "
			   "handle",
			   "a library waits for the GPU here" },
};

/* Returns whether the host memory of the line's copies is pinned already. `is_target`: the memory
 * that is copied to, otherwise the memory that is copied from. */
static bool is_pinned(const struct judge *j, uint32_t site, bool is_target)
{
	const struct timeline *t = j->w.timeline;
	bool is_any = false;
	for (size_t i = 0; i < t->works.n; i++) {
		const struct timeline_work *x = &t->works.at[i];
		uint8_t memory = is_target ? x->target : x->source;
		const struct timeline_call *code = timeline_code(t, x);
		if (x->kind != WORK_MEMCPY || !code || code->site != site)
			continue;
		if (memory == HOST_PAGEABLE)
			return false;
		is_any |= memory == HOST_PINNED;
	}
	return is_any;
}

static bool moves_model(const struct judge *j, const struct finding_sync *s)
{
	struct frames *frames = j->w.timeline->frames;
	return frames && phase_rules_stack(frames, s->stack).part == PART_MOVE;
}

/* Returns the advice for a line that waits for its copies to finish. */
static const char *fix_for_copy(const struct judge *j, const struct finding_sync *s)
{
	bool pinned = is_pinned(j, s->site, s->is_from_device);
	if (!s->is_from_device && moves_model(j, s))
		return "create or load the model on the GPU itself (torch.device(\"cuda\"), "
		       "map_location=\"cuda\")";
	if (s->is_from_device)
		return pinned ? "copy asynchronously, and read the result one step later"
			      : "copy asynchronously into pinned memory, and read the result one "
				"step later";
	if (j->program.is_python && j->program.is_torch)
		return pinned ? "copy asynchronously (non_blocking=True)"
			      : "copy asynchronously from pinned memory (non_blocking=True)";
	return pinned ? "copy asynchronously" : fixes[SYNC_COPY].what;
}

/*
 * Returns the advice for a wait, a static text. Copies need different advice in some cases. Data
 * copied from the device cannot come from pinned memory. A few numbers, or a tensor made of Python
 * numbers, are mostly the same in every step, and torch.tensor() always waits, so the program
 * should create them once.
 */
static const char *fix_for(const struct judge *j, const struct finding_sync *s)
{
	const struct timeline *t = j->w.timeline;
	bool is_any = false, is_small = true;
	if (s->kind == SYNC_COPY && s->is_from_device)
		return fix_for_copy(j, s);
	for (size_t i = 0; s->kind == SYNC_COPY && i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		if (c->site != s->site || c->category != CAT_MEMCPY || c->copy == COPY_D2H)
			continue;
		is_any = true;
		is_small &= c->bytes < TIMELINE_BATCH_BYTES || c->about & ABOUT_NUMBERS;
	}
	if (is_any && is_small && !moves_model(j, s))
		return "copy this data once, before the loop; if it changes, create it on the GPU "
		       "or copy it from pinned memory";
	if (s->kind == SYNC_COPY)
		return fix_for_copy(j, s);
	/* An operator that sorts, or that must know how many results it has, synchronizes
	 * internally. The advice about a CUDA library's handle does not fit such an operator. */
	return s->op ? "use an operator that does not synchronize, or call this one less often"
		     : fixes[s->kind].what;
}

static const char *reason_of(char *text, size_t size, const struct finding_sync *s)
{
	if (!s->op && s->kind == SYNC_EXPLICIT)
		snprintf(text, size,
			 "the CPU waits for the GPU in %s and launches nothing meanwhile", s->api);
	else if (!s->op)
		return fixes[s->kind].why;
	else
		snprintf(text, size, "%s synchronizes with the GPU internally", s->op);
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

/* Returns whether anomaly detection waits here. advise_anomaly() has the advice on it. */
static bool is_of_anomaly(const struct judge *j, const struct finding_sync *s)
{
	return stack_about(j->w.timeline->frames, s->stack) & ABOUT_ANOMALY;
}

static void advise_waits(struct judge *j)
{
	char times[TIMES_BYTES], reason[REASON_BYTES];
	for (size_t i = 0; i < j->f->syncs.n; i++) {
		const struct finding_sync *s = &j->f->syncs.at[i];
		const struct whatif_change change = { .kind = WHATIF_WAIT,
						      .site = s->site,
						      .inner = s->inner };
		if (s->kind == SYNC_ALLOC || s->kind >= SYNC_KINDS_N ||
		    !is_first_of_site(j->f, i) || is_of_anomaly(j, s))
			continue;
		struct whatif_result wait = { .gain_ms = s->recoverable_ms };
		if (judge_has_other_kind(j->f, i) || wait.gain_ms >= judge_worth_ms(j))
			whatif_play(&j->w, &change, 1, &wait, NULL);
		if (wait.gain_ms < judge_worth_ms(j))
			continue;
		double line_ms = judge_line_gain_ms(j, change, &wait);
		bool is_of_others = !wait.is_of_mean && j->w.n_typical < j->w.replay.n_steps;
		advise(j, s->site, &change, 1, fix_for(j, s),
		       "%s: %s %s, blocked for %.*f ms%s; removing the whole line would save "
		       "%.*f ms",
		       reason_of(reason, sizeof(reason), s),
		       advice_times(times, sizeof(times), s->per_step), judge_per_step(j->f),
		       MS(s->blocked_ms), is_of_others ? " (mean of all recorded steps)" : "",
		       MS(line_ms));
	}
}

/* Waits that hide each other: removing one of them saves little, removing all of them
 * saves much. */
struct set {
	struct whatif_change changes[SET_MOST];
	size_t n;
	double gain_ms, single_ms; /* savings of the whole set; of its best wait alone */
};

static void collect_set(struct judge *j, struct set *set)
{
	for (size_t i = 0; i < j->f->syncs.n && set->n < SET_MOST; i++) {
		const struct finding_sync *s = &j->f->syncs.at[i];
		if (s->kind == SYNC_ALLOC || !is_first_of_site(j->f, i) || is_of_anomaly(j, s))
			continue;
		set->changes[set->n++] = (struct whatif_change){ .kind = WHATIF_WAIT,
								 .site = s->site,
								 .inner = s->inner };
		set->single_ms = fmax(set->single_ms, s->recoverable_ms);
	}
	set->gain_ms = judge_gain_ms(j, set->changes, set->n);
}

/* Removes the waits that add little to the set's savings, beginning with those that block least. */
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
		char name[SITE_NAME_BYTES];
		int n = snprintf(to + used, room - used, "%s%s", i ? ", " : "", site_name(s, name));
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
	       "remove these synchronizations together: if one remains, the CPU waits there "
	       "instead",
	       "%s: the savings from removing only one of them at a time add up to %.*f ms", lines,
	       MS(sum));
}

/* ---- Causes with several lines ---- */

struct general {
	struct whatif_change change;
	double least_share; /* least savings, as a share of the step */
	bool is_of_copies;
	enum idle_cause cause; /* whose advice is given */
	const char *why;
	uint32_t (*site)(const struct judge *j, double *per_step_ms);
};

/* Returns true if the line copies, and all host memory that it copies from or to is pinned. */
static bool are_copies_pinned(const struct judge *j, uint32_t site)
{
	const struct timeline *t = j->w.timeline;
	bool is_any = false;
	for (size_t i = 0; i < t->works.n; i++) {
		const struct timeline_work *x = &t->works.at[i];
		const struct timeline_call *code = timeline_code(t, x);
		if (x->kind != WORK_MEMCPY || !code || code->site != site)
			continue;
		if (x->source == HOST_PAGEABLE || x->target == HOST_PAGEABLE)
			return false;
		is_any |= x->source == HOST_PINNED || x->target == HOST_PINNED;
	}
	return is_any;
}

/*
 * A change that removes a copy also removes the wait for it. So of the advice on the copy and the
 * advice on the wait, only the one that saves more is kept. Returns true if the existing advice for
 * the site must stay. Otherwise removes the existing advice, if there is any, and returns false.
 */
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

/* Returns true if the replay's work is a copy that the line made or captured. */
static bool is_copy_of(const struct judge *j, const struct replay_work *w, uint32_t site)
{
	const struct timeline *t = j->w.timeline;
	const struct timeline_work *work = &t->works.at[w->work];
	const struct timeline_call *code = timeline_code(t, work);
	return work->kind == WORK_MEMCPY && code && code->site == site;
}

/* Returns true if a stream runs copies of the line and also other work. */
static bool shares_stream(const struct judge *j, uint32_t site)
{
	const struct replay *r = &j->w.replay;
	bool *copies = mem_zero(r->streams.n * sizeof(*copies)), shares = false;
	for (size_t i = 0; i < r->works.n; i++)
		copies[r->works.at[i].stream] |= is_copy_of(j, &r->works.at[i], site);
	for (size_t i = 0; i < r->works.n; i++)
		shares |= copies[r->works.at[i].stream] &&
			  j->w.timeline->works.at[r->works.at[i].work].kind != WORK_MEMCPY;
	free(copies);
	return shares;
}

/* Where the line's copies run. */
enum copy_place { COPY_IN_STREAM, COPY_OUT_OF_GRAPH, COPY_INTO_GRAPH };

static enum copy_place place_of_copies(const struct judge *j, uint32_t site)
{
	const struct timeline *t = j->w.timeline;
	for (size_t i = 0; i < j->w.replay.works.n; i++) {
		const struct replay_work *w = &j->w.replay.works.at[i];
		const struct timeline_work *work = &t->works.at[w->work];
		if (is_copy_of(j, w, site) && work->origin != MODEL_NO_CALL)
			return work->target == HOST_PINNED ? COPY_OUT_OF_GRAPH : COPY_INTO_GRAPH;
	}
	return COPY_IN_STREAM;
}

/*
 * A copy between the device and pinned memory cannot be made faster. What can be saved is the time
 * in which other work of its stream waits for it. On a stream of its own, the next step's copy runs
 * during this step's work. In a graph, this needs another branch, or a copy outside the graph.
 */
static void advise_pinned(struct judge *j, uint32_t site)
{
	static const struct {
		const char *what, *savings;
	} by_place[] = {
		[COPY_IN_STREAM] = { "copy less, or copy on a separate stream", "a separate "
										"stream" },
		[COPY_OUT_OF_GRAPH] = { "copy less, or capture the copy on a second stream",
					"a second branch in the graph" },
		[COPY_INTO_GRAPH] = { "copy less, or copy outside the graph on a separate stream",
				      "a copy during the step before" },
	};
	const struct whatif_change change = { .kind = WHATIF_ASIDE, .site = site };
	enum copy_place place = place_of_copies(j, site);
	if (shares_stream(j, site) && judge_gain_ms(j, &change, 1) >= judge_worth_ms(j))
		advise(j, site, &change, 1, by_place[place].what,
		       "the memory is pinned already, so the copy cannot be faster; the savings "
		       "are those of %s, which needs a second buffer",
		       by_place[place].savings);
}

static void advise_general(struct judge *j, const struct general *g)
{
	double least_ms = fmax(judge_worth_ms(j), g->least_share * j->step_ms), here_ms;
	double gain_ms = judge_gain_ms(j, &g->change, 1);
	if (gain_ms < least_ms)
		return;
	uint32_t site = g->site(j, &here_ms); /* by the play in judge_gain_ms() above */
	if (!site || (g->is_of_copies && yields_to_existing(j, site, gain_ms)))
		return;
	if (g->is_of_copies && are_copies_pinned(j, site)) {
		advise_pinned(j, site);
		return;
	}
	advise(j, site, &g->change, 1, idle_causes[g->cause].advice, "%s; %.*f ms %s at this line",
	       g->why, MS(here_ms), judge_per_step(j->f));
}

/* Advises on host functions that were captured into graphs, for the line with the longest gaps. */
static void advise_host_nodes(struct judge *j)
{
	const struct timeline *t = j->w.timeline;
	uint32_t site = 0;
	uint64_t most_ns = 0;
	for (size_t i = 0; i < t->idle.pieces.n; i++) {
		const struct idle_piece *p = &t->idle.pieces.at[i];
		if (p->cause != IDLE_GRAPH_HOST || p->ns <= most_ns)
			continue;
		most_ns = p->ns;
		site = p->site;
	}
	const struct whatif_change change = { .kind = WHATIF_HOST_NODES, .site = site };
	if (site && judge_gain_ms(j, &change, 1) >= judge_worth_ms(j))
		advise(j, site, &change, 1, idle_causes[IDLE_GRAPH_HOST].advice,
		       "this line captured a host function into a CUDA graph: in each launch of "
		       "the graph, the GPU is idle until the CPU has run the function");
}

/* Returns true if a CPU twice as fast saves more than the removal of any single cause, and more
 * than a GPU twice as fast. */
static bool is_host_larger(const struct judge *j)
{
	double most = 0;
	for (int i = 0; i < RESOURCES; i++)
		if (i != RESOURCE_LAUNCH && i != RESOURCE_HOST)
			most = fmax(most, j->drawn[i].value);
	return j->host_half_ms > most;
}

static int by_gain(const void *a, const void *b)
{
	const struct finding_advice *x = a, *y = b;
	return x->expected_ms > y->expected_ms ? -1 : x->expected_ms < y->expected_ms;
}

/*
 * Fills together_ms, from the advice with the largest savings to the smallest. A change adds
 * nothing if the changes before it already save its time. Advice that saves time in few steps only
 * is left out.
 */
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
		IDLE_ALLOC,
		"allocation and freeing take CPU time, and freeing waits for the GPU",
		advice_top_memory_site,
	};
	static const struct general copies = {
		{ .kind = WHATIF_FREE, .what = WHATIF_FREE_COPY },
		copy_share,
		true,
		IDLE_COPY,
		"copies take time in every step",
		advice_top_site,
	};
	j->program = program_kind_of(j->w.timeline);
	advise_anomaly(j);
	advise_waits(j);
	advise_sets(j);
	advise_streams(j);
	advise_legacy(j);
	advise_round_trip(j);
	advise_general(j, &memory);
	advise_input(j);
	advise_general(j, &copies);
	advise_host_nodes(j);
	bool is_limit = j->f->verdict == VERDICT_LAUNCH || j->f->verdict == VERDICT_HOST ||
			is_host_larger(j);
	advise_pause(j, is_limit);
	if (is_limit)
		advise_launches(j);
	if (j->f->advice.n)
		qsort(j->f->advice.at, j->f->advice.n, sizeof(*j->f->advice.at), by_gain);
	play_together(j);
}
