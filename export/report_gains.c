/* See report_gains.h. */
#include "export/report_gains.h"

#include "export/report_steps.h"
#include "export/report_words.h"

#include "core/util/text.h"

#include <math.h>
#include <string.h>

enum {
	NUMBER_BYTES = 32,
	HALF_COLUMNS = 6, /* of " ±0.03" */
};

/* The heading says so if the replayed steps and a typical step differ by this factor. */
#define APART 1.2

/* A smaller overlap, in percent, is rounding error. */
#define OVERLAP_PCT 2

/* From this share of a step on, time is worth a person's attention (judge_worth_ms()). */
#define CONTENTION_LEAST 0.02

/* Returns whether two step times differ. `step_ms`: of the replayed steps, without recording
 * overhead. `typical_ms`: of the typical step at the top of the first screen. */
static bool are_apart(double step_ms, double typical_ms)
{
	return typical_ms > 0 && (step_ms >= APART * typical_ms || typical_ms >= APART * step_ms);
}

void report_gains_heading(struct textout *o, const struct report_process *p)
{
	char step[NUMBER_BYTES], recorded[NUMBER_BYTES], typical[NUMBER_BYTES];
	double step_ms = p->replay ? p->replay->step_ms : 0,
	       recorded_ms = p->replay ? p->replay->recorded_ms : 0,
	       typical_ms = !p->baseline.step_ms   ? 0
			    : report_catches_up(p) ? p->baseline.step_ms->mean
						   : p->baseline.step_ms->p50;
	report_ms(step, sizeof(step), step_ms);
	report_ms(recorded, sizeof(recorded), recorded_ms);
	if (!(step_ms > 0))
		text_line(o, TEXT_BOLD, "Estimated savings per step");
	else if (report_is_unit(p))
		text_line(o, TEXT_BOLD, "Estimated savings in the whole run of %s ms", step);
	else if (p->replay && p->replay->disturbed_times > 1)
		text_line(o, TEXT_BOLD,
			  "Estimated savings per step, scaled to unrecorded steps of %s ms", step);
	else if (p->replay && p->replay->contention_ms >= CONTENTION_LEAST * step_ms)
		text_line(o, TEXT_BOLD,
			  "Estimated savings per step of %s ms (without %s ms of CPU contention)",
			  step, report_ms(typical, sizeof(typical), p->replay->contention_ms));
	else if (are_apart(step_ms, typical_ms))
		text_line(o, TEXT_BOLD,
			  "Estimated savings per recorded step (%s ms; a typical step takes %s ms)",
			  step, report_ms(typical, sizeof(typical), typical_ms));
	else if (step_ms < recorded_ms && strcmp(step, recorded) != 0)
		text_line(o, TEXT_BOLD,
			  "Estimated savings per step of %s ms (without recording overhead)", step);
	else
		text_line(o, TEXT_BOLD, "Estimated savings per step of %s ms", step);
}

bool report_gain_is_rare(const struct report_advice *a)
{
	return a->rare_steps >= 0;
}

void report_gains_rare_heading(struct textout *o, const struct report_process *p)
{
	char mean[NUMBER_BYTES];
	text_line(o, TEXT_PLAIN,
		  "  in a few steps only, averaged over all %lld recorded steps (%s ms each):",
		  (long long)p->bound.steps,
		  report_ms(mean, sizeof(mean), p->replay ? p->replay->mean_ms : 0));
}

/* Writes " ±0.3", half the width of the interval, with one significant digit below 1 ms. Writes ""
 * if the interval is not known, or if few steps save time and it is wider than the savings: it then
 * only says that other runs may have no such step. */
static char *half_width(char *to, size_t bytes, const struct report_advice *a)
{
	double half = (a->interval_ms.high - a->interval_ms.low) / 2;
	int decimals = half >= 9.5 ? 0 : half >= 0.095 ? 1 : half >= 0.0095 ? 2 : 3;
	to[0] = 0;
	if (isfinite(half) && !(report_gain_is_rare(a) && half >= a->expected_ms))
		snprintf(to, bytes, " ±%.*f", decimals, half);
	return to;
}

char *report_gain(char *to, size_t bytes, const struct report_process *p,
		  const struct report_advice *a)
{
	char ms[NUMBER_BYTES], percent[NUMBER_BYTES] = "", half[NUMBER_BYTES];
	double all = !p->replay		      ? 0
		     : report_gain_is_rare(a) ? p->replay->mean_ms
					      : p->replay->step_ms;
	if (all > 0)
		snprintf(percent, sizeof(percent), "%.0f %%", a->expected_ms / all * 100);
	half_width(half, sizeof(half), a);
	int blanks = *half ? HALF_COLUMNS - (int)text_width(half) : 0;
	snprintf(to, bytes, "%9s ms%s%*s %5s  ", report_ms(ms, sizeof(ms), a->expected_ms), half,
		 blanks > 0 ? blanks : 0, "", percent);
	return to;
}

void report_gains_sum(struct textout *o, const struct report_process *p, size_t n)
{
	char ms[NUMBER_BYTES];
	double sum = 0, together = 0;
	for (size_t i = 0; i < p->advice.n && i < n; i++) {
		const struct report_advice *a = &p->advice.at[i];
		if (report_gain_is_rare(a))
			continue;
		sum += a->expected_ms;
		together = report_or_zero(a->together_ms);
	}
	if (sum > together * (1 + OVERLAP_PCT / 100.0))
		text_line(o, TEXT_PLAIN, "%9s ms combined savings (the savings above overlap)",
			  report_ms(ms, sizeof(ms), together));
}

const char *report_gains_none(const struct report_process *p)
{
	if (!strcmp(p->bound.verdict, "launch"))
		return "No change to a single line would save much. Fewer launches in the whole "
		       "step would: CUDA graphs, fused kernels, a larger batch";
	if (!strcmp(p->bound.verdict, "gpu"))
		return "No change to a single line would save much. Less work for the GPU would: "
		       "see the list of kernels";
	return "No change to a single line would save much.";
}
