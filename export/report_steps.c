/* See report_steps.h. */
#include "export/report_steps.h"

#include "core/util/path.h"

#include "export/report_text.h"
#include "export/report_words.h"

#include <math.h>
#include <string.h>

enum {
	NUMBER_BYTES = 32,
	OF_TRAINING_BYTES = 64,
	PAUSES_SAID = 4,
	PAUSES_BYTES = 600,
	PLACE_BYTES = 300,
	FEW = 3,	  /* for fewer slow steps, "1 in N steps" says nothing */
	LEAST_FACTOR = 2, /* smallest suggested factor of PROF_TRIGGER=slow: */
	SKIP_STEP = 10,	  /* suggested values of skip_first= are multiples of this */
};

/* A line says so if recorded steps differ from all steps by this factor. */
#define APART 1.2

double report_step_ms(const struct report_process *p)
{
	if (p->baseline.step_ms)
		return p->baseline.step_ms->p50;
	if (p->baseline.recorded_ms)
		return p->baseline.recorded_ms->p50;
	return p->replay ? p->replay->measured_ms : 0;
}

static void say_warm_up(struct textout *o, const struct report_process *p)
{
	char most[NUMBER_BYTES];
	const struct sample_summary *warm_up = p->baseline.warm_up_ms;
	if (!warm_up)
		return;
	report_ms(most, sizeof(most), warm_up->max);
	if (warm_up->n > 1)
		text_say(o, REPORT_UNDER, "without the %lld warm-up steps (up to %s ms each)",
			 (long long)warm_up->n, most);
	else
		text_say(o, REPORT_UNDER, "without the first step (warm-up, %s ms)", most);
}

/*
 * Returns whether the CPU ran far ahead of the GPU in the recorded steps. This can happen after
 * recording was switched on, because that empties the GPU's queue. Then the CPU needs less time for
 * a step than the GPU, while the GPU takes as long as in other steps, and the GPU does the rest of
 * their work after their end. If the GPU did less than half of that work then, the recorded steps
 * were short for another reason.
 */
static bool ran_ahead(const struct report_process *p, double host_ms)
{
	double device_ms = p->replay ? p->replay->measured_ms : 0,
	       typical_ms = p->baseline.step_ms->p50, late_ms = 0;
	for (size_t i = 0; i < p->gpu.n; i++)
		late_ms = fmax(late_ms, p->gpu.at[i].late_ms);
	return host_ms * APART < typical_ms && device_ms < APART * typical_ms &&
	       typical_ms < APART * device_ms && late_ms >= (typical_ms - host_ms) / 2;
}

bool report_runs_ahead(const struct report_process *p)
{
	bool is_late = false;
	for (size_t i = 0; i < p->gpu.n; i++)
		is_late |= p->gpu.at[i].late_ms > REPORT_MOSTLY_LATE * p->gpu.at[i].busy_ms;
	return is_late && p->replay && p->replay->measured_ms > APART * report_step_ms(p);
}

bool report_catches_up(const struct report_process *p)
{
	return p->baseline.catch_up && p->baseline.step_ms;
}

/* Prints that the CPU waits for the GPU in some steps only, and at which line it waits most. */
static void say_catch_up(struct textout *o, const struct report_process *p, const char *cwd)
{
	const struct report_catch_up *c = p->baseline.catch_up;
	char cpu[NUMBER_BYTES], place[PLACE_BYTES] = "";
	double one_in = (double)c->of / (double)c->n;
	if (p->syncs.n && p->syncs.at[0].place.line > 0)
		report_place_short(place, sizeof(place), &p->syncs.at[0].place, cwd);
	text_say(o, REPORT_UNDER,
		 "the CPU launches a step in %s ms and runs ahead of the GPU; in 1 of %.*f steps "
		 "it "
		 "waits until the GPU has caught up%s%s",
		 report_ms(cpu, sizeof(cpu), report_step_ms(p)), one_in < FEW && one_in > 1 ? 1 : 0,
		 one_in, *place ? ", mostly at " : "", place);
}

static void say_ahead(struct textout *o, const struct report_process *p)
{
	char cpu[NUMBER_BYTES], gpu[NUMBER_BYTES];
	text_say(o, REPORT_UNDER,
		 "the CPU launches a step in %s ms and runs ahead of the GPU, which takes %s ms "
		 "per "
		 "step",
		 report_ms(cpu, sizeof(cpu), report_step_ms(p)),
		 report_ms(gpu, sizeof(gpu), p->replay->measured_ms));
}

/* Prints the length of recorded steps if it differs from that of other steps, because all figures
 * below refer to recorded steps. Only savings do not (report_gains.h). */
static void say_recorded(struct textout *o, const struct report_process *p)
{
	char took[NUMBER_BYTES];
	const struct report_baseline *b = &p->baseline;
	if (!b->recorded_ms)
		return;
	double ms = b->recorded_ms->p50, times = ms / b->step_ms->p50,
	       n_warm = b->warm_up_ms ? (double)b->warm_up_ms->n : 0;
	report_ms(took, sizeof(took), ms);
	if (b->work_times >= APART || b->work_times <= 1 / APART) {
		text_say(o, REPORT_UNDER,
			 "recorded steps launch %.*f times as much work as the median step (%s ms "
			 "per step); other figures refer to recorded steps",
			 b->work_times < 1 ? 2 : 1, b->work_times, took);
		return;
	}
	if (times < APART && times > 1 / APART)
		return;
	if (ran_ahead(p, ms))
		text_say(o, REPORT_UNDER,
			 "in recorded steps the CPU ran ahead of the GPU (%s ms per step)", took);
	else if (b->recorded_in_warm_up)
		text_say(o, REPORT_UNDER,
			 "recorded steps (%s ms) are warm-up steps: set skip_first=%.0f in "
			 "PROF_SCHEDULE",
			 took, (floor(n_warm / SKIP_STEP) + 1) * SKIP_STEP);
	else
		text_say(o, REPORT_UNDER,
			 "recorded steps take %s ms (%.*fx the median); other figures refer to "
			 "recorded steps",
			 took, times < 1 ? 2 : 1, times);
}

/*
 * Returns a factor for PROF_TRIGGER=slow: that lies well between the other steps and the slow ones:
 * the geometric mean of the longest other step and the shortest slow one, but at most half of the
 * latter. A factor just below the slow steps would miss those that are a little shorter.
 */
static double trigger_factor(const struct report_baseline *b)
{
	const struct report_slow_steps *s = b->slow_steps;
	double median = b->step_ms->p50, other = fmax(median, report_or_zero(s->other_most_ms));
	double ms = fmin(sqrt(s->least_ms * other), s->least_ms / 2);
	return fmax(LEAST_FACTOR, floor(ms / median));
}

static bool has_place(const struct report_pause *p)
{
	return *p->place.file && p->place.line >= 0;
}

/* Appends "step 120: 210.0 ms, longest gap before train.py:12" for a slow step, or "sleep at
 * train.py:12" if samples show it. */
static size_t append_pause(char *to, size_t bytes, const struct report_pause *p, bool is_first,
			   const char *cwd)
{
	char ms[NUMBER_BYTES], place[PLACE_BYTES];
	size_t used = (size_t)snprintf(to, bytes, "%sstep %lld: %s ms", is_first ? "" : "; ",
				       (long long)p->step, report_ms(ms, sizeof(ms), p->ms));
	if (!has_place(p) || used >= bytes)
		return used;
	report_place_short(place, sizeof(place), &p->place, cwd);
	if (*p->cause)
		used += (size_t)snprintf(to + used, bytes - used, ", %s at %s",
					 report_cause_noun(p->cause), place);
	else
		used += (size_t)snprintf(to + used, bytes - used, ", longest %s %s",
					 p->is_gap ? "gap before" : "call at", place);
	return used;
}

/* Prints the longest slow steps. Those that were recorded come first, as their line is known. */
static void say_pauses(struct textout *o, const struct report_baseline *b, const char *cwd)
{
	char text[PAUSES_BYTES] = "";
	size_t used = 0, n_said = 0;
	for (int recorded = 1; recorded >= 0; recorded--)
		for (size_t i = 0; i < b->pauses.n && n_said < PAUSES_SAID; i++) {
			if (has_place(&b->pauses.at[i]) != recorded || used >= sizeof(text))
				continue;
			used += append_pause(text + used, sizeof(text) - used, &b->pauses.at[i],
					     !n_said, cwd);
			n_said++;
		}
	if (n_said)
		text_wrap(o, TEXT_PLAIN, REPORT_UNDER, text, 2);
}

/* Writes which slow steps were recorded or, if none was, how to record them. */
static void name_recorded(char *to, size_t bytes, const struct report_baseline *b)
{
	const struct report_slow_steps *slow = b->slow_steps;
	size_t used = 0;
	int64_t n_more = slow->n_recorded - (int64_t)slow->recorded.n;
	snprintf(to, bytes,
		 "to record slow ones, set PROF_SCHEDULE=flight=5 PROF_TRIGGER=slow:%.0f",
		 trigger_factor(b));
	for (size_t i = 0; i < slow->recorded.n && used < bytes; i++)
		used += (size_t)snprintf(to + used, bytes - used, "%s%lld",
					 i ? ", " : "recorded: ", (long long)slow->recorded.at[i]);
	if (n_more > 0 && used < bytes)
		snprintf(to + used, bytes - used, " and %lld more", (long long)n_more);
}

static char *write_loop(char *to, size_t bytes, const struct facts_loop *l, const char *cwd)
{
	const struct report_place at = { l->file, l->line, l->function };
	if (l->line > 0)
		return report_place_short(to, bytes, &at, cwd);
	snprintf(to, bytes, "%s", *l->function ? l->function : "unknown place");
	return to;
}

/* Writes which other loop most of the slow steps' time is in, such as an agent's rollout before
 * several steps of training, or "". */
static char *write_slow_loop(char *to, size_t bytes, const struct report_process *p,
			     const char *cwd)
{
	const struct facts_loops *l = p->facts.steps.loop;
	const struct facts_loop *most = NULL;
	char place[PLACE_BYTES];
	to[0] = 0;
	for (size_t i = 0; l && i < l->others.n; i++)
		if (!most || l->others.at[i].share > most->share)
			most = &l->others.at[i];
	if (most && 2 * 100 * most->share > p->baseline.slow_steps->time_pct)
		snprintf(to, bytes, ", mostly for the loop at %s",
			 write_loop(place, sizeof(place), most, cwd));
	return to;
}

/* Prints steps that are rare but take a large part of the run. The figures per step hardly show
 * these steps. */
static void say_slow(struct textout *o, const struct report_process *p, const char *cwd)
{
	const struct report_slow_steps *slow = p->baseline.slow_steps;
	char which[160], text[400];
	if (!slow)
		return;
	bool is_of_load = slow->n_of_load * 2 > slow->n_recorded;
	char loop[PLACE_BYTES + 40];
	const char *why = is_of_load ? ", mostly while other load had the CPUs"
				     : write_slow_loop(loop, sizeof(loop), p, cwd);
	name_recorded(which, sizeof(which), &p->baseline);
	if (slow->n < FEW)
		snprintf(text, sizeof(text),
			 "%lld of %lld steps took %.0fx as long as the others (%.0f %% of the "
			 "total time)%s; %s",
			 (long long)slow->n, (long long)slow->of, slow->times, slow->time_pct, why,
			 which);
	else
		snprintf(text, sizeof(text),
			 "1 in %.0f steps takes %.0fx as long as the others (%.0f %% of the total "
			 "time)%s; %s",
			 (double)slow->of / (double)slow->n, slow->times, slow->time_pct, why,
			 which);
	text_wrap(o, TEXT_PLAIN, REPORT_UNDER, text, 3);
	say_pauses(o, &p->baseline, cwd);
}

/* Prints that steps become longer or shorter during the whole run. */
static void say_drift(struct textout *o, const struct report_drift *d)
{
	char first[NUMBER_BYTES], last[NUMBER_BYTES];
	if (!d)
		return;
	report_ms(first, sizeof(first), d->first_ms);
	report_ms(last, sizeof(last), d->last_ms);
	if (d->last_ms > d->first_ms)
		text_line(o, TEXT_PLAIN, REPORT_UNDER "steps grow during the run: from %s to %s ms",
			  first, last);
	else
		text_line(o, TEXT_PLAIN,
			  REPORT_UNDER "the warm-up does not end: steps still shorten, from %s to "
				       "%s ms",
			  first, last);
}

/* Consecutive steps that were recorded for one reason. */
struct reason {
	const char *name;
	int64_t n, first;
};

/* Prints the reasons that have steps: "kept by the flight recorder: trigger (steps 45-48), exit
 * (steps 66-69)". */
static void say_reasons(struct textout *o, const char *what, const struct reason *at, size_t n)
{
	enum { REASONS_SAID = 4, LINES = 2 };
	char text[400];
	size_t used = (size_t)snprintf(text, sizeof(text), "%s", what), n_said = 0;
	for (size_t i = 0; i < n && used < sizeof(text); i++) {
		if (at[i].n <= 0 || n_said++ >= REASONS_SAID)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s (step",
					 n_said > 1 ? ", " : ": ", at[i].name);
		if (used < sizeof(text) && at[i].n > 1)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "s %lld-%lld)",
						 (long long)at[i].first,
						 (long long)(at[i].first + at[i].n - 1));
		else if (used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, " %lld)",
						 (long long)at[i].first);
	}
	if (n_said > REASONS_SAID && used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, ", and %zu more", n_said - REASONS_SAID);
	if (n_said)
		text_wrap(o, TEXT_PLAIN, "         ", text, LINES);
}

static void say_why(struct textout *o, const struct facts_steps *s)
{
	VEC(struct reason) reasons = { 0 };
	for (size_t i = 0; i < s->triggers.n; i++)
		vec_push(&reasons, (struct reason){ s->triggers.at[i].by, s->triggers.at[i].n,
						    s->triggers.at[i].first });
	say_reasons(o, "triggered by", reasons.at, reasons.n);
	reasons.n = 0;
	for (size_t i = 0; i < s->kept.n; i++)
		vec_push(&reasons, (struct reason){ s->kept.at[i].why, s->kept.at[i].n,
						    s->kept.at[i].first });
	say_reasons(o, "kept by the flight recorder", reasons.at, reasons.n);
	vec_free(&reasons);
}

/* Prints that recording began late. Prints nothing if the schedule restarted when training began
 * (trains_from): then recording was not late, and say_count() prints where training began. */
static void say_late(struct textout *o, const struct facts_steps *steps)
{
	char text[160];
	int64_t n = steps->schedule_late;
	if (n <= 0 || steps->trains_from >= 0)
		return;
	snprintf(text, sizeof(text),
		 "recording began %lld step%s later than scheduled, because steps were detected "
		 "too late; raise skip_first= or set PROF_STEP",
		 (long long)n, n > 1 ? "s" : "");
	text_wrap(o, TEXT_PLAIN, REPORT_UNDER, text, 2);
}

/* Prints how steps were detected and which were recorded; how many of them are in training. */
static void say_count(struct textout *o, const struct facts_steps *steps)
{
	char numbers[120], of_training[OF_TRAINING_BYTES] = "", detector[80];
	bool has_training = steps->trains_from >= 0;
	if (has_training)
		snprintf(of_training, sizeof(of_training), "%lld in training, ",
			 (long long)(steps->count - steps->trains_from));
	report_numbers(numbers, sizeof(numbers), steps->recorded.at, steps->recorded.n);
	text_say(o, "steps    ", "%s%s; %s%s", of_training,
		 report_detector(detector, sizeof(detector), steps),
		 *numbers ? "recorded: " : "none recorded: figures cover the whole run", numbers);
	if (has_training)
		text_say(o, REPORT_UNDER,
			 "training starts at step %lld; earlier steps, without an optimizer, are "
			 "excluded",
			 (long long)steps->trains_from);
}

/* Iterations are counted by stacks, so only in the opening. Returns words for it if the opening
 * ended before the process did. */
static const char *when_counted(const struct facts_steps *steps)
{
	return isfinite(steps->opening_s) ? " in the opening" : "";
}

static double inner_per_step(const struct facts_loops *l, const struct facts_loop *inner)
{
	double steps = (double)l->step.iterations / (isnan(l->per_step) ? 1 : l->per_step);
	return (double)inner->iterations / steps;
}

/* Writes "12 iterations per step". If not even every step runs the loop, writes the number of all
 * iterations. */
static char *write_often(char *to, size_t bytes, const struct facts_steps *s,
			 const struct facts_loop *inner)
{
	double per_step = inner_per_step(s->loop, inner);
	if (per_step < 1)
		snprintf(to, bytes, "%lld iterations%s", (long long)inner->iterations,
			 *when_counted(s) ? when_counted(s) : " in all");
	else
		snprintf(to, bytes, "%.3g iterations per step", per_step);
	return to;
}

static bool is_same_place(const struct facts_loop *a, const struct facts_loop *b)
{
	return a->line == b->line && !strcmp(a->file, b->file);
}

/*
 * Returns whether inner loop `i` shows how a step is built. A loop that iterates once per step,
 * such as a generator's, does not. A loop of other steps, such as an evaluation's, does so if it is
 * in the file of the step's loop. A line that loops in several calls counts once.
 */
static bool is_inner_shown(const struct facts_loops *l, size_t i)
{
	const struct facts_loop *inner = &l->inner.at[i];
	for (size_t k = 0; k < i; k++)
		if (is_same_place(inner, &l->inner.at[k]))
			return false;
	double per_step = inner_per_step(l, inner);
	return round(per_step) > 1 || (per_step < 1 && !strcmp(inner->file, l->step.file));
}

/* Prints the loops around the step's loop and inside it. */
static void say_nest(struct textout *o, const struct facts_steps *steps, const char *cwd)
{
	const struct facts_loops *l = steps->loop;
	enum { LINES = 4 };
	char text[600], place[PLACE_BYTES], often[NUMBER_BYTES];
	size_t used = 0, n_inner = 0;
	for (size_t i = 0; i < l->outer.n && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s the loop at %s (%lld iterations%s)",
					 i ? ", in" : "it is in",
					 write_loop(place, sizeof(place), &l->outer.at[i], cwd),
					 (long long)l->outer.at[i].iterations, when_counted(steps));
	for (size_t i = 0; i < l->inner.n && used < sizeof(text); i++) {
		if (!is_inner_shown(l, i))
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s the loop at %s (%s)",
					 n_inner++ ? " and"
					 : used	   ? "; it contains"
						   : "it contains",
					 write_loop(place, sizeof(place), &l->inner.at[i], cwd),
					 write_often(often, sizeof(often), steps, &l->inner.at[i]));
	}
	if (used)
		text_wrap(o, TEXT_PLAIN, REPORT_UNDER, text, LINES);
}

/* Prints the option for another loop on as many lines as it takes, so that it can be copied. */
static void say_other_loop(struct textout *o, const struct facts_steps *steps,
			   const struct facts_loop *l, const char *cwd)
{
	enum { LINES = 4 };
	char text[2 * PLACE_BYTES + 128], place[PLACE_BYTES];
	write_loop(place, sizeof(place), l, cwd);
	if (l->iterations > 1)
		snprintf(text, sizeof(text),
			 "the loop at %s (%lld iterations%s) could be meant, too; to choose it: "
			 "--step loop:%s:%lld",
			 place, (long long)l->iterations, when_counted(steps), path_base(l->file),
			 (long long)l->line);
	else
		snprintf(text, sizeof(text),
			 "the loop at %s could be meant, too, but no CUDA call shows its "
			 "iterations",
			 place);
	text_wrap(o, TEXT_PLAIN, REPORT_UNDER, text, LINES);
}

/* Prints the loops apart from the step's: no figure of a step includes them. */
static void say_others(struct textout *o, const struct facts_steps *steps, const char *cwd)
{
	const struct facts_loops *l = steps->loop;
	enum { LINES = 4 };
	char text[600], place[PLACE_BYTES];
	size_t used = 0;
	for (size_t i = 0; i < l->others.n && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s the loop at %s (%lld iterations%s, %.0f %% of the "
					 "time)",
					 i ? " and" : "apart from these steps:",
					 write_loop(place, sizeof(place), &l->others.at[i], cwd),
					 (long long)l->others.at[i].iterations, when_counted(steps),
					 100 * l->others.at[i].share);
	if (used)
		text_wrap(o, TEXT_PLAIN, REPORT_UNDER, text, LINES);
}

/* Prints which loop of the program the steps are the iterations of. */
static void say_loop(struct textout *o, const struct facts_steps *steps, const char *cwd)
{
	const struct facts_loops *l = steps->loop;
	char place[PLACE_BYTES];
	if (!l)
		return;
	write_loop(place, sizeof(place), &l->step, cwd);
	bool is_named = *l->step.file || *l->step.function;
	if (is_named && l->step.is_call && isnan(l->per_step))
		text_say(o, REPORT_UNDER, "step = call of %s at %s", l->step.function, place);
	else if (is_named && isnan(l->per_step))
		text_say(o, REPORT_UNDER, "step = iteration of the loop at %s", place);
	else if (is_named)
		text_say(o, REPORT_UNDER,
			 "step = iterations of the loop at %s up to an optimizer's step, %.3g on "
			 "average",
			 place, l->per_step);
	if (l->instead && l->instead->line > 0)
		say_other_loop(o, steps, l->instead, cwd);
	else if (o->terse < REPORT_TERSEST)
		say_nest(o, steps, cwd);
	say_others(o, steps, cwd);
}

/* Prints that the program went on for long without a step. */
static void say_lost(struct textout *o, const struct facts_steps *steps)
{
	if (steps->lost_after >= 0)
		text_say(o, REPORT_UNDER,
			 "after step %lld, no step ended any more although the program launched "
			 "more work: later steps, if any, are not counted",
			 (long long)steps->lost_after);
}

static void say_corrected(struct textout *o, const struct facts_steps *steps)
{
	if (!steps->corrected)
		return;
	if (steps->corrected->period_before == steps->period)
		text_say(o, REPORT_UNDER,
			 "the step boundary was corrected during the run; steps before that are "
			 "excluded");
	else
		text_say(o, REPORT_UNDER,
			 "at first, steps were wrongly detected as %lld call%s long; they are "
			 "excluded",
			 (long long)steps->corrected->period_before,
			 steps->corrected->period_before == 1 ? "" : "s");
}

/* Prints what a run without steps consists of, and how long the process took around it. */
static void say_unit(struct textout *o, const struct report_process *p)
{
	char ms[NUMBER_BYTES];
	const struct facts_steps *steps = &p->facts.steps;
	if (!report_is_unit(p)) {
		text_say(o, "step     ", "%s ms; too few steps to show how much step time varies",
			 report_ms(ms, sizeof(ms), report_step_ms(p)));
		return;
	}
	text_say(o, "steps    ", "none detected: %s counts as one unit of %s ms",
		 isnan(steps->opening_s) ? "the run" : "the opening (PROF_OPENING)",
		 report_ms(ms, sizeof(ms), report_step_ms(p)));
	if (isfinite(steps->start_up_s) && isfinite(steps->after_last_s))
		text_say(o, REPORT_UNDER,
			 "%.2f s before its first CUDA call (start-up), %.2f s after the last",
			 steps->start_up_s, steps->after_last_s);
	else if (isfinite(steps->start_up_s))
		text_say(o, REPORT_UNDER, "%.2f s before its first CUDA call (start-up)",
			 steps->start_up_s);
}

double report_start_up_pct(const struct report_process *p)
{
	const struct facts_steps *s = &p->facts.steps;
	double all_s = s->start_up_s + report_step_ms(p) / 1e3 + s->after_last_s;
	return isfinite(all_s) && all_s > 0 ? 100 * s->start_up_s / all_s : NAN;
}

void report_steps_say(struct textout *o, const struct report_process *p, const char *cwd)
{
	const struct facts_steps *steps = &p->facts.steps;
	if (!p->baseline.step_ms) {
		say_unit(o, p);
		return;
	}
	say_count(o, steps);
	say_warm_up(o, p);
	if (report_runs_ahead(p)) { /* a pause of the CPU delays no work then */
		say_ahead(o, p);
	} else if (report_catches_up(p)) { /* the slow steps are those that wait */
		say_catch_up(o, p, cwd);
		say_drift(o, p->baseline.drift);
	} else {
		say_slow(o, p, cwd);
		say_drift(o, p->baseline.drift);
		say_recorded(o, p);
	}
	say_loop(o, steps, cwd);
	if (*steps->boundary)
		text_say(o, REPORT_UNDER, "%lld CUDA call%s per step; step boundary: %s",
			 (long long)steps->period, steps->period > 1 ? "s" : "", steps->boundary);
	say_corrected(o, steps);
	say_lost(o, steps);
	say_late(o, steps);
	say_why(o, steps);
}
