/* See report_gains.h. */
#include "export/report_gains.h"

#include "export/report_steps.h"
#include "export/report_words.h"

#include <string.h>

enum { NUMBER_BYTES = 32 };

/* Recorded steps are like all others, or it is said that they are not. */
#define APART 1.2

/* Less is rounding. */
#define OVERLAP_PCT 2

static double replay_ms(const json_t *p, const char *name)
{
	return report_number(json_object_get(p, "replay"), name);
}

/* Whether the steps that were played, `step_ms` when not recorded, are not those that the first lines tell of, `usual_ms`. */
static bool are_apart(double step_ms, double usual_ms)
{
	return usual_ms > 0 && (step_ms >= APART * usual_ms || usual_ms >= APART * step_ms);
}

void report_gains_heading(struct textout *o, const json_t *p)
{
	char step[NUMBER_BYTES], recorded[NUMBER_BYTES], usual[NUMBER_BYTES];
	double step_ms = replay_ms(p, "step_ms"), recorded_ms = replay_ms(p, "recorded_ms"),
	       usual_ms = report_number(report_step_lengths(p), "p50");
	report_ms(step, sizeof(step), step_ms);
	report_ms(recorded, sizeof(recorded), recorded_ms);
	if (!(step_ms > 0))
		text_line(o, TEXT_BOLD, "What mending would win of a step");
	else if (replay_ms(p, "disturbed_times") > 1)
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

bool report_gain_is_rare(const json_t *advice)
{
	return report_has_number(advice, "rare_steps");
}

void report_gains_rare_heading(struct textout *o, const json_t *p)
{
	char mean[NUMBER_BYTES];
	text_line(o, TEXT_PLAIN, "  and in few steps, as the mean of all %.0f recorded, %s ms:",
		  report_number(json_object_get(p, "bound"), "steps"),
		  report_ms(mean, sizeof(mean), replay_ms(p, "mean_ms")));
}

char *report_gain(char *to, size_t bytes, const json_t *p, const json_t *advice)
{
	char ms[NUMBER_BYTES], percent[NUMBER_BYTES] = "";
	double gain = report_number(advice, "expected_ms_per_step"),
	       all = replay_ms(p, report_gain_is_rare(advice) ? "mean_ms" : "step_ms");
	if (all > 0)
		snprintf(percent, sizeof(percent), "%.0f %%", gain / all * 100);
	snprintf(to, bytes, "%9s ms %5s  ", report_ms(ms, sizeof(ms), gain), percent);
	return to;
}

void report_gains_sum(struct textout *o, const json_t *p, size_t n)
{
	char ms[NUMBER_BYTES];
	const json_t *list = json_object_get(p, "advice");
	double sum = 0, together = 0;
	for (size_t i = 0; i < json_array_size(list) && i < n; i++) {
		const json_t *advice = json_array_get(list, i);
		if (report_gain_is_rare(advice))
			continue;
		sum += report_number(advice, "expected_ms_per_step");
		together = report_number(advice, "together_ms_per_step");
	}
	if (sum > together * (1 + OVERLAP_PCT / 100.0))
		text_line(o, TEXT_PLAIN, "      these overlap: together they win %s ms",
			  report_ms(ms, sizeof(ms), together));
}
