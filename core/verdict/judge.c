/*
 * Derives the verdict from a few plays of the replay. Waste comes first: a program can avoid waits,
 * allocation, copies, waiting for input and waiting for other ranks. So one of these causes is the
 * bottleneck if its removal saves a tenth of the step, unless a GPU or a CPU twice as fast would
 * save far more. Otherwise the bottleneck is the GPU or the CPU, whichever would save more if it
 * were twice as fast.
 */
#include "core/verdict/judge.h"
#include "core/analysis/idle.h"
#include "core/analysis/inner_line.h"

#include "core/analysis/summary.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

enum { STEPS_LEAST = 2 };

/* If the replay's model error is larger than this, there is no verdict. */
static const double error_most_pct = 15;
/* A cause is the bottleneck only if its removal saves at least this share of what a GPU twice as
 * fast would save. */
static const double waste_of_gpu_gain = 0.3;
/* A cause must also save at least this share of what a CPU twice as fast would save. The latter
 * includes half of the cause itself. */
static const double waste_of_host_gain = 0.5;
/* Two candidates are both named if the smaller one saves at least this share of the larger one. */
static const double comparable = 0.6;
/* Two causes are distinct if their removal together saves at least this many times what the larger
 * one saves alone. */
static const double together_least = 1.2;
/* A recorded step that takes more than this many times its played length contains work that is not
 * part of the played step: see find_typical_in_both(). */
static const double length_most = 1.5;

/* Limits of the number of rows of the sync summary that are played. Each row takes two plays. */
enum { SYNCS_LEAST = 8, SYNCS_MOST = 40, OPS_OF_ALL_PLAYS = 2000000 };

static const struct {
	uint8_t verdict;
	struct whatif_change change;
	const char *text; /* name of the cause, for the evidence */
} causes[CAUSES] = {
	[CAUSE_SYNC] = { VERDICT_SYNC,
			 { .kind = WHATIF_FREE, .what = WHATIF_FREE_SYNC },
			 "synchronization" },
	[CAUSE_MEMORY] = { VERDICT_MEMORY,
			   { .kind = WHATIF_FREE, .what = WHATIF_FREE_ALLOC },
			   "allocation and freeing" },
	[CAUSE_COPY] = { VERDICT_COPY,
			 { .kind = WHATIF_FREE, .what = WHATIF_FREE_COPY },
			 "copies" },
	[CAUSE_INPUT] = { VERDICT_INPUT,
			  { .kind = WHATIF_FREE, .what = WHATIF_FREE_INPUT },
			  "data loading" },
	[CAUSE_COLLECTIVE] = { VERDICT_COLLECTIVE,
			       { .kind = WHATIF_FREE, .what = WHATIF_FREE_COLLECTIVE },
			       "communication" },
};

__attribute__((format(printf, 2, 3))) static void say(struct findings *f, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vec_reserve(&f->evidence, 1);
	vsnprintf(f->evidence.at[f->evidence.n++].text, EVIDENCE_BYTES, format, args);
	va_end(args);
}

/* ---- Plays ---- */

static double scaled_gain_ms(struct judge *j, float host, float device)
{
	const struct replay *r = &j->w.replay;
	struct replay_edit edit = { .host_scale = host };
	edit.scale = mem_resize(NULL, r->works.n * sizeof(*edit.scale));
	for (size_t i = 0; i < r->works.n; i++)
		edit.scale[i] = device;
	struct whatif_result result;
	replay_play(r, &edit);
	whatif_find_gain(&j->w, true, &result);
	free(edit.scale);
	return fmax(0, result.typical_gain_ms);
}

static void play_causes(struct judge *j)
{
	struct whatif_change all[CAUSES];
	for (int i = 0; i < CAUSES; i++) {
		all[i] = causes[i].change;
		j->cause_ms[i] = judge_typical_gain_ms(j, &causes[i].change, 1);
	}
	j->all_causes_ms = judge_typical_gain_ms(j, all, CAUSES);
	j->gpu_half_ms = scaled_gain_ms(j, 1, 0.5f);
	j->host_half_ms = scaled_gain_ms(j, 0.5f, 1);
}

/* Fills the savings of the sync summary's rows. If there are too many rows, only those with the
 * most blocked time are played; the rows are sorted by blocked time. */
static void fill_syncs(struct judge *j)
{
	size_t most = OPS_OF_ALL_PLAYS / (j->w.replay.ops.n + 1);
	most = most < SYNCS_LEAST ? SYNCS_LEAST : most > SYNCS_MOST ? SYNCS_MOST : most;
	size_t played = 0;
	for (size_t i = 0; i < j->f->syncs.n; i++) {
		struct finding_sync *s = &j->f->syncs.at[i];
		struct whatif_change change = { .kind = WHATIF_WAIT,
						.site = s->site,
						.inner = s->inner,
						.is_of_kind = judge_has_other_kind(j->f, i),
						.wait_kind = s->kind };
		if (!s->site || played == most)
			continue;
		struct whatif_result wait = { 0 };
		whatif_play(&j->w, &change, 1, &wait, NULL);
		s->recoverable_ms = fmax(0, wait.gain_ms);
		s->line_ms = judge_line_gain_ms(j, change, &wait);
		played++;
	}
	if (played == most && played < j->f->syncs.n)
		findings_unavailable(j->f, "savings of every synchronization",
				     "only the %zu lines with the most blocked time were replayed; "
				     "the others show savings of 0",
				     played);
}

/* ---- Verdict ---- */

struct top {
	int first, second; /* the causes with the largest savings */
};

static struct top find_top(const struct judge *j)
{
	struct top top = { 0, -1 };
	for (int i = 1; i < CAUSES; i++) {
		if (j->cause_ms[i] > j->cause_ms[top.first]) {
			top.second = top.first;
			top.first = i;
		} else if (top.second < 0 || j->cause_ms[i] > j->cause_ms[top.second]) {
			top.second = i;
		}
	}
	return top;
}

static bool are_two(struct judge *j, struct top top)
{
	const struct whatif_change both[] = { causes[top.first].change, causes[top.second].change };
	double first = j->cause_ms[top.first], second = j->cause_ms[top.second];
	return second >= comparable * first && second >= judge_binds * j->step_ms &&
	       judge_typical_gain_ms(j, both, 2) >= together_least * first;
}

static double idle_ms_of(const struct findings *f, const struct finding_gpu *g)
{
	return f->n_typical < f->n_played ? g->typical_idle_ms : g->idle_ms;
}

/* Returns true if a device is hardly idle in a step. A faster CPU could not give such a device more
 * work. */
static bool has_full_gpu(const struct judge *j)
{
	for (size_t i = 0; i < j->f->gpus.n; i++)
		if (idle_ms_of(j->f, &j->f->gpus.at[i]) < judge_worth_ms(j))
			return true;
	return false;
}

/* Sets the verdict. Returns how clear the verdict is, from 0 to 1: the lead over the second
 * candidate, or for a mixed verdict, how close the two candidates are. */
static double decide(struct judge *j)
{
	struct top top = find_top(j);
	double first = j->cause_ms[top.first], second = j->cause_ms[top.second];
	double others =
		fmax(waste_of_gpu_gain * j->gpu_half_ms, waste_of_host_gain * j->host_half_ms);
	double host_alone = j->host_half_ms - first / 2;
	if (first >= fmax(judge_binds * j->step_ms, others)) {
		j->f->verdict = are_two(j, top) ? VERDICT_MIXED : causes[top.first].verdict;
		if (j->f->verdict == VERDICT_MIXED)
			return second / first;
		return fmax(0, 1 - fmax(second, host_alone) / first);
	}
	double gpu = j->gpu_half_ms, cpu = j->host_half_ms, larger = fmax(gpu, cpu);
	if (cpu >= gpu && has_full_gpu(j)) {
		j->f->verdict = VERDICT_GPU;
		return 0;
	}
	if (larger <= 0) {
		j->f->verdict = VERDICT_UNKNOWN;
		return 0;
	}
	if (fmin(gpu, cpu) >= comparable * larger) {
		j->f->verdict = VERDICT_MIXED;
		return fmin(gpu, cpu) / larger;
	}
	j->f->verdict = gpu > cpu ? VERDICT_GPU : VERDICT_CPU;
	return 1 - fmin(gpu, cpu) / larger;
}

static double variation(const struct timeline *t)
{
	double sum = 0, squares = 0, n = (double)t->steps.n;
	for (size_t i = 0; i < t->steps.n; i++) {
		double ms = (double)(t->steps.at[i].end_ns - t->steps.at[i].begin_ns) / 1e6;
		sum += ms;
		squares += ms * ms;
	}
	double mean = sum / n;
	return mean > 0 ? sqrt(fmax(0, squares / n - mean * mean)) / mean : 0;
}

/* Returns the sign to print before savings. Savings that are printed as 0.00 get no sign. */
static const char *minus(double ms)
{
	return ms >= 0.005 ? "-" : "";
}

static void say_utilization(struct findings *f, const struct finding_gpu *g)
{
	double own_ms = g->busy_ms - g->before_ms,
	       usual_ms = g->typical_busy_ms + g->typical_idle_ms;
	if (g->late_ms > own_ms)
		say(f,
		    "GPU %u is busy for %.2f ms per step, mostly after the CPU has finished the "
		    "step",
		    g->device, own_ms + g->late_ms);
	else if (f->n_typical < f->n_played)
		say(f, "GPU %u utilization %.0f %% (%.2f ms per typical step)", g->device,
		    100 * g->typical_busy_ms / fmax(usual_ms, 1e-6), g->typical_busy_ms);
	else
		say(f, "GPU %u utilization %.0f %% (%.2f ms per step)", g->device, g->busy_pct,
		    g->busy_ms);
}

/* Writes the evidence of the verdict. A screen shows only the first lines, so the most important
 * evidence comes first. The utilization comes late, because a screen shows it elsewhere, too. */
static void give_evidence(struct judge *j)
{
	struct findings *f = j->f;
	if (j->w.undisturbed_share < 1)
		say(f,
		    "recorded steps took %.1fx as long as the steps around them: savings are "
		    "scaled to unrecorded steps (%.2f ms)",
		    1 / j->w.undisturbed_share, f->step_ms);
	if (j->w.n_typical < j->w.replay.n_steps)
		say(f,
		    "%u of %u recorded steps took more than 1.5x the median: the verdict refers to "
		    "the others (%.2f ms)",
		    j->w.replay.n_steps - j->w.n_typical, j->w.replay.n_steps, f->recorded_ms);
	for (int i = 0; i < CAUSES; i++)
		if (j->cause_ms[i] >= judge_worth_ms(j))
			say(f, "without %s: -%.2f ms per step (%.0f %%)", causes[i].text,
			    j->cause_ms[i], j->cause_ms[i] / j->step_ms * 100);
	if (j->all_causes_ms < judge_worth_ms(j))
		say(f, "synchronization, copies, allocation and data loading cost almost nothing");
	say(f, "with a GPU twice as fast: %s%.2f ms; a CPU twice as fast: %s%.2f ms",
	    minus(j->gpu_half_ms), j->gpu_half_ms, minus(j->host_half_ms), j->host_half_ms);
	for (size_t i = 0; i < f->gpus.n; i++)
		say_utilization(f, &f->gpus.at[i]);
	say(f, "the replay without changes takes %.2f ms per step on average; measured: %.2f ms",
	    f->replayed_ms, f->measured_ms);
}

static void give_verdict(struct judge *j)
{
	struct findings *f = j->f;
	double error = fabs(f->error_pct);
	double clear = decide(j);
	give_evidence(j);
	f->confidence = (1 - fmin(1, error / error_most_pct)) * (0.5 + 0.5 * clear) /
			(1 + 2 * variation(f->timeline)) * j->w.undisturbed_share;
	if (error <= error_most_pct && j->w.replay.n_steps >= STEPS_LEAST)
		return;
	f->verdict = VERDICT_UNKNOWN;
	f->confidence = 0;
	if (error > error_most_pct)
		findings_unavailable(f, "bottleneck",
				     "the replayed step time differs from the measured one by %.0f "
				     "%%, too much to estimate savings",
				     error);
	else
		findings_unavailable(f, "bottleneck",
				     "only one step was recorded; at least two are needed");
}

static uint64_t length_ns(const struct timeline_step *s)
{
	return s->end_ns - s->begin_ns;
}

/* Marks n_typical of the played steps: all except for the longest ones. `played`: the indexes of
 * the played steps in the timeline. */
static void leave_out_longest(const struct judge *j, const uint32_t *played, bool *is_typical)
{
	const struct timeline_step *steps = j->f->timeline->steps.at;
	uint32_t n = j->w.replay.n_steps;
	for (uint32_t i = 0; i < n; i++)
		is_typical[played[i]] = true;
	for (uint32_t left = n; left > j->w.n_typical; left--) {
		uint32_t longest = UINT32_MAX;
		for (uint32_t i = 0; i < n; i++)
			if (is_typical[played[i]] &&
			    (longest == UINT32_MAX ||
			     length_ns(&steps[played[i]]) > length_ns(&steps[longest])))
				longest = played[i];
		is_typical[longest] = false;
	}
}

/*
 * Marks the steps that are typical both as played and as recorded. Returns false if there are none.
 * A played step ends when its last call has returned and its work is done. A recorded step ends
 * when the next step begins. So the CPU work before the first call of a checkpoint belongs to the
 * recorded step before the checkpoint, but not to the played one. That step is typical only as
 * played, so it is not marked.
 */
static bool find_typical_in_both(const struct judge *j, const uint32_t *played, bool *is_typical)
{
	double recording = j->w.recorded_ns / (j->w.step_ns / j->w.undisturbed_share);
	bool is_any = false;
	for (uint32_t i = 0; i < j->w.replay.n_steps; i++) {
		double ns = (double)length_ns(&j->f->timeline->steps.at[played[i]]);
		is_typical[played[i]] = j->w.is_typical[i] &&
					ns <= length_most * recording * j->w.lengths_ns[i];
		is_any |= is_typical[played[i]];
	}
	return is_any;
}

/* Fills n_typical, n_played, and the busy, idle and phase times of the typical steps, to which the
 * verdict refers. */
static void fill_typical(struct judge *j)
{
	const struct replay *r = &j->w.replay;
	bool *is_typical = mem_zero((j->f->timeline->steps.n + 1) * sizeof(*is_typical));
	uint32_t *played = mem_zero(r->n_steps * sizeof(*played)), n = 0;
	j->f->n_typical = j->w.n_typical;
	j->f->n_played = r->n_steps;
	for (size_t k = 0; k < r->runs.n; k++)
		for (uint32_t i = 0; i < r->runs.at[k].n_steps; i++)
			played[n++] = r->runs.at[k].first_step + i;
	if (j->w.n_typical < r->n_steps) {
		if (!find_typical_in_both(j, played, is_typical))
			leave_out_longest(j, played, is_typical);
		idle_fill_typical(j->f, is_typical);
		summary_fill_typical_phases(j->f, is_typical);
	}
	free(played);
	free(is_typical);
}

void replay_fill(struct findings *f)
{
	struct judge j = { .f = f };
	struct err e;
	f->verdict = VERDICT_UNKNOWN;
	if (whatif_open(&j.w, f->timeline, &e)) {
		findings_unavailable(f, "bottleneck and savings", "%s", e.text);
		return;
	}
	j.step_ms = j.w.step_ns / 1e6;
	f->measured_ms = j.w.replay.measured_ns / 1e6;
	f->replayed_ms = j.w.replayed_ns / 1e6;
	f->error_pct = (f->replayed_ms / f->measured_ms - 1) * 100;
	double measured_ms_of_ns = f->measured_ms / j.w.replayed_ns;
	f->recorded_ms = j.w.recorded_ns * measured_ms_of_ns;
	f->step_ms = j.w.step_ns * measured_ms_of_ns;
	f->mean_ms = j.w.mean_ns * measured_ms_of_ns;
	f->disturbed_times = 1 / j.w.undisturbed_share;
	fill_typical(&j);
	play_causes(&j);
	fill_syncs(&j);
	give_verdict(&j);
	if (f->verdict != VERDICT_UNKNOWN)
		advice_fill(&j);
	vec_free(&j.advised);
	whatif_close(&j.w);
}
