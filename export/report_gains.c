/* See report_gains.h. */
#include "export/report_gains.h"

#include "export/report_words.h"

#include <string.h>

enum { NUMBER_BYTES = 32 };

/* Recorded steps are like all others, or it is said that they are not. */
#define APART 1.2

/* Less is rounding. */
#define OVERLAP_PCT 2

/* Whether the steps that were played, `step_ms` when not recorded, are not those that the first lines tell of, `usual_ms`. */
static bool are_apart(double step_ms, double usual_ms)
{
	return usual_ms > 0 && (step_ms >= APART * usual_ms || usual_ms >= APART * step_ms);
}

void report_gains_heading(struct textout *o, const struct report_process *p)
{
	char step[NUMBER_BYTES], recorded[NUMBER_BYTES], usual[NUMBER_BYTES];
	double step_ms = p->replay ? p->replay->step_ms : 0,
	       recorded_ms = p->replay ? p->replay->recorded_ms : 0,
	       usual_ms = p->baseline.step_ms ? p->baseline.step_ms->p50 : 0;
	report_ms(step, sizeof(step), step_ms);
	report_ms(recorded, sizeof(recorded), recorded_ms);
	if (!(step_ms > 0))
		text_line(o, TEXT_BOLD, "What mending would win of a step");
	else if (p->replay->disturbed_times > 1)
		text_line(o, TEXT_BOLD,
			  "What mending would win, in proportion, of the %s ms of steps beside "
			  "these",
			  step);
	else if (are_apart(step_ms, usual_ms))
		text_line(o, TEXT_BOLD,
			  "What mending would win, of a recorded step's %s ms, not the usual %s",
			  step, report_ms(usual, sizeof(usual), usual_ms));
	else if (step_ms < recorded_ms && strcmp(step, recorded) != 0)
		text_line(o, TEXT_BOLD,
			  "What mending would win, of the %s ms that a step takes when not "
			  "recorded",
			  step);
	else
		text_line(o, TEXT_BOLD, "What mending would win, of a step's %s ms", step);
}

bool report_gain_is_rare(const struct report_advice *a)
{
	return a->rare_steps >= 0;
}

void report_gains_rare_heading(struct textout *o, const struct report_process *p)
{
	char mean[NUMBER_BYTES];
	text_line(o, TEXT_PLAIN, "  and in few steps, as the mean of all %lld recorded, %s ms:",
		  (long long)p->bound.steps,
		  report_ms(mean, sizeof(mean), p->replay ? p->replay->mean_ms : 0));
}

char *report_gain(char *to, size_t bytes, const struct report_process *p,
		  const struct report_advice *a)
{
	char ms[NUMBER_BYTES], percent[NUMBER_BYTES] = "";
	double all = !p->replay		      ? 0
		     : report_gain_is_rare(a) ? p->replay->mean_ms
					      : p->replay->step_ms;
	if (all > 0)
		snprintf(percent, sizeof(percent), "%.0f %%", a->expected_ms / all * 100);
	snprintf(to, bytes, "%9s ms %5s  ", report_ms(ms, sizeof(ms), a->expected_ms), percent);
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
		text_line(o, TEXT_PLAIN, "      these overlap: together they win %s ms",
			  report_ms(ms, sizeof(ms), together));
}
