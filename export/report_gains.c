/* See report_gains.h. */
#include "export/report_gains.h"

#include "export/report_words.h"

enum { NUMBER_BYTES = 32 };

static double step_ms(const json_t *p)
{
	return report_number(json_object_get(p, "replay"), "step_ms");
}

void report_gains_heading(struct textout *o, const json_t *p)
{
	char step[NUMBER_BYTES], recorded[NUMBER_BYTES];
	const json_t *replay = json_object_get(p, "replay");
	double recorded_ms = report_number(replay, "measured_ms");
	report_ms(step, sizeof(step), step_ms(p));
	report_ms(recorded, sizeof(recorded), recorded_ms);
	if (!(step_ms(p) > 0))
		text_line(o, TEXT_BOLD, "What mending would win of a step");
	else if (step_ms(p) < recorded_ms && strcmp(step, recorded) != 0)
		text_line(o, TEXT_BOLD,
			  "What mending would win, of the %s ms that a step takes when not "
			  "recorded",
			  step);
	else
		text_line(o, TEXT_BOLD, "What mending would win, of a step's %s ms", step);
}

char *report_gain(char *to, size_t bytes, const json_t *p, const json_t *advice)
{
	char ms[NUMBER_BYTES], percent[NUMBER_BYTES] = "";
	double gain = report_number(advice, "expected_ms_per_step"), all = step_ms(p);
	if (all > 0)
		snprintf(percent, sizeof(percent), "%.0f %%", gain / all * 100);
	snprintf(to, bytes, "%9s ms %5s  ", report_ms(ms, sizeof(ms), gain), percent);
	return to;
}

void report_gains_sum(struct textout *o, const json_t *p, size_t n)
{
	const json_t *list = json_object_get(p, "advice");
	double sum = 0;
	for (size_t i = 0; i < json_array_size(list) && i < n; i++)
		sum += report_number(json_array_get(list, i), "expected_ms_per_step");
	if (step_ms(p) > 0 && sum > step_ms(p))
		text_line(o, TEXT_PLAIN, "      these overlap: they do not add up");
}
