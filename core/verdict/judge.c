/*
 * Gives the verdict with its evidence, and fills the savings of the waits. The verdict comes from
 * the savings of each resource (judge_resources.c).
 */
#include "core/verdict/judge.h"
#include "core/analysis/idle.h"
#include "core/analysis/inner_line.h"
#include "core/analysis/step_times.h"

#include "core/analysis/summary.h"
#include "core/util/ms_digits.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

/* If the replay's model error is larger than this, there is no verdict. */
static const double error_most_pct = 15;
/* The confidence in what one step or a run without steps shows: nothing says how much its savings
 * vary. */
static const double one_step_most = 0.5;
/* Where waits for a CPU take a larger share of the time, the confidence falls to 0 at a share of 1.
 * Of 14 PyTorch programs on a busy machine, two changed their verdict from run to run; their shares
 * were 0.5 to 0.92. */
static const double contention_most = 0.5;
/* The same for steps that are not typical, where the verdict does not cover them. */
static const double left_out_most = 0.5;
/* A recorded step that takes more than this many times its played length contains work that is not
 * part of the played step: see find_typical_in_both(). */
static const double length_most = 1.5;

/* If waits now and then make the mean step at most by this share longer than the median, the median
 * describes the steps. */
static const double catch_up_least = 0.2;

/* Limits of the number of rows of the sync summary that are played. Each row takes two plays. */
enum { SYNCS_LEAST = 8, SYNCS_MOST = 40, OPS_OF_ALL_PLAYS = 2000000 };

/* ---- Plays ---- */

static double host_half_ms(struct judge *j)
{
	const struct replay_edit edit = { .host_scale = 0.5f };
	struct whatif_result result;
	replay_play(&j->w.replay, &edit);
	whatif_find_gain(&j->w, true, &result);
	return fmax(0, result.typical_gain_ms);
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

static int by_saving(const void *a, const void *b)
{
	const struct finding_saving *x = a, *y = b;
	return x->ms > y->ms ? -1 : x->ms < y->ms;
}

static const char *played_of(const struct judge *j, uint8_t verdict)
{
	for (int i = 0; i < RESOURCES; i++)
		if (judge_resources[i].verdict == verdict)
			return judge_played(j, i);
	return "";
}

/* Writes what each resource saves, largest first, if that is worth a line. `is_of_verdict`: only
 * the resource of the verdict, else only the others. */
static void say_savings(struct judge *j, bool is_of_verdict)
{
	qsort(j->f->savings.at, j->f->savings.n, sizeof(*j->f->savings.at), by_saving);
	for (size_t i = 0; i < j->f->savings.n; i++) {
		const struct finding_saving *s = &j->f->savings.at[i];
		if ((s->resource == j->f->verdict) == is_of_verdict && s->ms >= judge_worth_ms(j))
			judge_say(j->f, "%s: -%.*f ms (%.0f %%), %.*f to %.*f",
				  played_of(j, s->resource), MS(s->ms),
				  s->ms / judge_base_ms(j) * 100, MS(s->low_ms), MS(s->high_ms));
	}
}

static void say_utilization(struct findings *f, const struct finding_gpu *g)
{
	double own_ms = g->busy_ms - g->before_ms,
	       usual_ms = g->typical_busy_ms + g->typical_idle_ms;
	if (g->late_ms > own_ms)
		judge_say(f,
			  "GPU %u is busy for %.*f ms %s, mostly after the CPU has finished the "
			  "step",
			  g->device, MS(own_ms + g->late_ms), judge_per_step(f));
	else if (f->n_typical < f->n_played)
		judge_say(f, "GPU %u utilization %.0f %% (%.*f ms per typical step)", g->device,
			  100 * g->typical_busy_ms / fmax(usual_ms, 1e-6), MS(g->typical_busy_ms));
	else
		judge_say(f, "GPU %u utilization %.0f %% (%.*f ms %s)", g->device, g->busy_pct,
			  MS(g->busy_ms), judge_per_step(f));
}

/* Writes how little the savings of one step show. */
static void say_one_step(struct findings *f)
{
	if (judge_is_unit(f))
		judge_say(f, "this is one run without steps: nothing shows how much these savings "
			     "vary");
	else
		judge_say(f, "only one step was recorded: nothing shows how much these savings "
			     "vary");
}

/* Writes which steps the verdict refers to. */
static void say_typical(struct judge *j)
{
	const struct findings *f = j->f;
	uint32_t n = j->w.replay.n_steps, n_others = n - j->w.n_typical;
	int digits = j->w.most_times < 10 ? 1 : 0;
	if (!n_others)
		return;
	if (f->is_of_all)
		judge_say(j->f,
			  "the verdict refers to all recorded steps (%.*f ms on average), "
			  "including "
			  "the %u of %u that took more than %.*fx the median",
			  MS(f->mean_ms), n_others, n, digits, j->w.most_times);
	else
		judge_say(j->f,
			  "%u of %u recorded steps took more than %.*fx the median: the verdict "
			  "refers to the others (%.*f ms)",
			  n_others, n, digits, j->w.most_times, MS(f->recorded_ms));
}

/* Child processes of the program, such as a data loader's workers, may be what has the CPUs. */
static void say_contention(struct judge *j)
{
	struct findings *f = j->f;
	const char *children = f->timeline->tables
				       ? tables_fact(f->timeline->tables, "CPUs of child processes")
				       : NULL;
	if (f->contention_ms < judge_worth_ms(j))
		return;
	if (children)
		judge_say(f,
			  "CPU contention: %.*f of %.*f ms %s (the program's child processes used "
			  "%s CPUs); verdict and savings are without it",
			  MS(f->contention_ms), MS(f->measured_ms), judge_per_step(f), children);
	else
		judge_say(f,
			  "CPU contention: %.*f of %.*f ms %s, while other threads had the CPUs; "
			  "verdict and savings are without it",
			  MS(f->contention_ms), MS(f->measured_ms), judge_per_step(f));
}

/* Writes the evidence of the verdict. A screen shows only the first lines, so the most important
 * evidence comes first. The utilization comes late, because a screen shows it elsewhere, too. */
static void give_evidence(struct judge *j)
{
	struct findings *f = j->f;
	say_savings(j, true);
	say_contention(j);
	if (j->w.undisturbed_share < 1 && f->work_times >= STEP_TIMES_APART)
		judge_say(f,
			  "recorded steps launch %.1f times as much work as the median step: "
			  "savings are scaled to steps of %.*f ms",
			  f->work_times, MS(f->step_ms));
	else if (j->w.undisturbed_share < 1)
		judge_say(f,
			  "recorded steps took %.1fx as long as the steps around them: savings are "
			  "scaled to unrecorded steps (%.*f ms)",
			  1 / j->w.undisturbed_share, MS(f->step_ms));
	say_typical(j);
	say_savings(j, false);
	if (j->w.replay.n_steps == 1)
		say_one_step(f);
	if (j->all_causes_ms < judge_worth_ms(j))
		judge_say(f, "synchronization, copies, allocation and data loading cost almost "
			     "nothing");
	for (size_t i = 0; i < f->gpus.n; i++)
		say_utilization(f, &f->gpus.at[i]);
	judge_say(f, "the replay without changes takes %.*f ms %s; measured: %.*f ms",
		  MS(f->replayed_ms), judge_is_unit(f) ? judge_per_step(f) : "per step on average",
		  MS(f->measured_ms));
}

/* Returns how much of the confidence is left where threads waited for a CPU. */
static double sure_share(const struct findings *f)
{
	double contention = f->measured_ms > 0 ? f->contention_ms / f->measured_ms : 0;
	return fmin(1, fmax(0, 1 - contention) / (1 - contention_most));
}

/* Returns the share of the recorded steps' time, without waits for a CPU, that is in steps that
 * are not typical. */
static double left_out_share(const struct judge *j)
{
	double all = 0, left_out = 0;
	for (uint32_t i = 0; i < j->w.replay.n_steps; i++) {
		all += j->w.lengths_ns[i];
		left_out += j->w.is_typical[i] ? 0 : j->w.lengths_ns[i];
	}
	return all > 0 ? left_out / all : 0;
}

/* Returns whether the verdict's resource saves less than another one in all steps together. */
static bool is_outdone_in_mean(const struct judge *j)
{
	double own = 0, most = 0;
	for (int i = 0; i < RESOURCES; i++) {
		if (judge_resources[i].verdict == j->f->verdict)
			own = j->mean_ms[i];
		most = fmax(most, j->mean_ms[i]);
	}
	return own < most;
}

/*
 * Returns how much of the confidence is left where the verdict is of a small part of the time,
 * although one or two other steps take most of it, and something else would save most in them:
 * nothing shows whether they are part of the program.
 */
static double share_of_typical(const struct judge *j)
{
	if (j->f->verdict == VERDICT_UNCLEAR || j->f->is_of_all || !is_outdone_in_mean(j))
		return 1;
	return fmin(1, (1 - j->f->left_out_share) / (1 - left_out_most));
}

static void give_verdict(struct judge *j)
{
	struct findings *f = j->f;
	double error = fabs(f->error_pct);
	double certain = judge_decide(j);
	if (j->w.replay.n_steps == 1)
		certain = fmin(certain, one_step_most);
	give_evidence(j);
	f->confidence = (1 - fmin(1, error / error_most_pct)) * certain * j->w.undisturbed_share *
			sure_share(f) * share_of_typical(j);
	f->input_source = f->verdict == VERDICT_INPUT ? judge_input_source(j) : "";
	if (error <= error_most_pct)
		return;
	f->verdict = VERDICT_UNKNOWN;
	f->confidence = 0;
	f->between.n = 0;
	findings_unavailable(f, "bottleneck",
			     "the replayed step time differs from the measured one by %.0f %%, too "
			     "much to estimate savings",
			     error);
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
 * played, so it is not marked. If the CPU runs ahead and waits now and then, the recorded lengths
 * are those of the CPU.
 */
static bool find_typical_in_both(const struct judge *j, const uint32_t *played, bool *is_typical)
{
	bool is_ahead = j->f->catch_up.n >
			0; /* then recorded lengths say nothing of single steps */
	bool is_any = false;
	for (uint32_t i = 0; i < j->w.replay.n_steps; i++) {
		double ns = (double)length_ns(&j->f->timeline->steps.at[played[i]]);
		is_typical[played[i]] =
			j->w.is_typical[i] &&
			(is_ahead || ns <= length_most * j->w.recorded_lengths_ns[i]);
		is_any |= is_typical[played[i]];
	}
	return is_any;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static double median_of(const double *of, uint32_t n)
{
	double *sorted = mem_zero((n + 1) * sizeof(*sorted)), median;
	memcpy(sorted, of, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_value);
	median = sorted[n / 2];
	free(sorted);
	return median;
}

static double busiest_ms(const struct findings *f)
{
	double most = 0;
	for (size_t i = 0; i < f->gpus.n; i++)
		most = fmax(most, f->gpus.at[i].busy_ms);
	return most;
}

/*
 * Finds out whether the CPU runs ahead of the GPU and waits for it only in some steps, as where a
 * loss is read in every tenth step. These steps are then as long as the GPU's work of all steps
 * since the last wait. Played steps last until their GPU work is done, so the long steps are much
 * shorter as played, and no other ones are longer. A GPU needs longer for a step than the median
 * step takes.
 */
static void fill_catch_up(struct judge *j, const uint32_t *played)
{
	uint32_t n = j->w.replay.n_steps, n_long = 0;
	double *ns = mem_zero((n + 1) * sizeof(*ns)), beyond_ns = 0, of_others_ns = 0;
	for (uint32_t i = 0; i < n; i++)
		ns[i] = (double)length_ns(&j->f->timeline->steps.at[played[i]]);
	double median_ns = median_of(ns, n);
	for (uint32_t i = 0; i < n; i++) {
		if (ns[i] <= length_most * median_ns)
			continue;
		double of_others = fmax(0, ns[i] - j->w.recorded_lengths_ns[i]);
		n_long += of_others * 2 > ns[i] - median_ns;
		beyond_ns += ns[i] - median_ns;
		of_others_ns += of_others;
	}
	for (uint32_t i = 0; i < n; i++) /* a step that is long as played is long for itself */
		if (!j->w.is_typical[i])
			of_others_ns -= fmax(0, j->w.recorded_lengths_ns[i] - j->w.recorded_ns);
	if (busiest_ms(j->f) * 1e6 > (1 + catch_up_least) * median_ns &&
	    beyond_ns > catch_up_least * median_ns * n && of_others_ns * 2 > beyond_ns)
		j->f->catch_up = (struct finding_catch_up){ n_long, n };
	free(ns);
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
	fill_catch_up(j, played);
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
	f->contention_ms = j.w.waited_ns * measured_ms_of_ns;
	f->disturbed_times = 1 / j.w.undisturbed_share;
	f->left_out_share = left_out_share(&j);
	if (j.w.waited_ns > 0)
		step_times_without_waits(f, j.w.lengths_ns, j.w.replay.n_steps);
	fill_typical(&j);
	judge_fill_critical(f, &j.w.replay);
	judge_play_resources(&j);
	j.host_half_ms = host_half_ms(&j);
	fill_syncs(&j);
	give_verdict(&j);
	if (f->verdict != VERDICT_UNKNOWN)
		advice_fill(&j);
	for (int i = 0; i < RESOURCES; i++) {
		free(j.steps_ms[i]);
		free(j.all_steps_ms[i]);
	}
	vec_free(&j.advised);
	whatif_close(&j.w);
}
