/* See report_steps.h. */
#include "export/report_steps.h"

#include "export/report_words.h"

#include <math.h>
#include <string.h>

enum {
	NUMBER_BYTES = 32,
	OF_TRAINING_BYTES = 64,
	SKIP_STEP = 10, /* a round number of steps to skip */
};

/* Recorded steps and all of them, where that is worth a line: beyond what is called fairly steady. */
#define APART 1.2

const json_t *report_step_lengths(const json_t *p)
{
	return json_object_get(json_object_get(p, "baseline"), "step_ms");
}

double report_step_ms(const json_t *p)
{
	const json_t *recorded = json_object_get(json_object_get(p, "baseline"), "recorded_ms");
	if (json_is_object(report_step_lengths(p)))
		return report_number(report_step_lengths(p), "p50");
	if (json_is_object(recorded))
		return report_number(recorded, "p50");
	return report_number(json_object_get(p, "replay"), "measured_ms");
}

/* Limits as people use the words; the figure stands beside them. */
static const char *how_steady(double cv)
{
	return cv < 0.05 ? "steady" : cv < 0.2 ? "fairly steady" : "unsteady";
}

static void say_warm_up(struct textout *o, const json_t *p)
{
	char most[NUMBER_BYTES];
	const json_t *warm_up = json_object_get(json_object_get(p, "baseline"), "warm_up_ms");
	if (!json_is_object(warm_up))
		return;
	double n = report_number(warm_up, "n");
	report_ms(most, sizeof(most), report_number(warm_up, "max"));
	if (n > 1)
		text_say(o, REPORT_UNDER, "without the first %.0f steps, which took up to %s ms", n,
			 most);
	else
		text_say(o, REPORT_UNDER, "without the first step, which took %s ms", most);
}

/* The host was far ahead of the device while it was recorded (switching recording on lets its queue run empty): it made the steps in less
 * time than the device needed for them, and what the device needed is what the others take. */
static bool ran_ahead(const json_t *p, double host_ms)
{
	double device_ms = report_number(json_object_get(p, "replay"), "measured_ms"),
	       usual_ms = report_number(report_step_lengths(p), "p50");
	return host_ms * APART < usual_ms && device_ms < APART * usual_ms &&
	       usual_ms < APART * device_ms;
}

/* Times below the first lines are of the recorded steps, gains alone are not (report_gains.h); what these took is said where it is not what
 * the others take. */
static void say_recorded(struct textout *o, const json_t *p)
{
	char took[NUMBER_BYTES];
	const json_t *baseline = json_object_get(p, "baseline"),
		     *recorded = json_object_get(baseline, "recorded_ms");
	double ms = report_number(recorded, "p50"),
	       times = ms / report_number(report_step_lengths(p), "p50"),
	       n_warm = report_number(json_object_get(baseline, "warm_up_ms"), "n");
	if (!json_is_object(recorded) || (times < APART && times > 1 / APART))
		return;
	report_ms(took, sizeof(took), ms);
	if (ran_ahead(p, ms))
		text_say(o, REPORT_UNDER,
			 "the host ran ahead in the recorded ones, at %s ms a step", took);
	else if (json_is_true(json_object_get(baseline, "recorded_in_warm_up")))
		text_say(o, REPORT_UNDER,
			 "recorded ones, %s ms, are of these: skip_first=%.0f records later", took,
			 (floor(n_warm / SKIP_STEP) + 1) * SKIP_STEP);
	else
		text_say(o, REPORT_UNDER,
			 "recorded ones: %s ms, %.*f times as long; all but gains is theirs", took,
			 times < 1 ? 2 : 1, times);
}

/* Steps that are rare, and yet a good part of the run: figures per step are hardly of them. */
static void say_slow(struct textout *o, const json_t *p)
{
	const json_t *slow = json_object_get(json_object_get(p, "baseline"), "slow_steps"),
		     *recorded = json_object_get(slow, "recorded");
	char which[160], text[300];
	size_t n = json_array_size(recorded), used = 0;
	if (!json_is_object(slow))
		return;
	snprintf(which, sizeof(which),
		 "none is recorded: PROF_SCHEDULE=flight=5 PROF_TRIGGER=slow:%.0f does",
		 floor(report_number(slow, "least_ms") /
		       report_number(report_step_lengths(p), "p50")));
	for (size_t i = 0; i < n && used < sizeof(which); i++)
		used += (size_t)snprintf(which + used, sizeof(which) - used, "%s%.0f",
					 i ? ", " : "of the recorded ones: ",
					 json_number_value(json_array_get(recorded, i)));
	if (report_number(slow, "n_recorded") > (double)n && used < sizeof(which))
		snprintf(which + used, sizeof(which) - used, " and %.0f more",
			 report_number(slow, "n_recorded") - (double)n);
	snprintf(text, sizeof(text),
		 "one step in %.0f takes %.0f times as long as the others: %.0f %% of all time; %s",
		 report_number(slow, "of") / report_number(slow, "n"), report_number(slow, "times"),
		 report_number(slow, "time_pct"), which);
	text_wrap(o, TEXT_PLAIN, REPORT_UNDER, text, 3);
}

/* "kept by the flight recorder: trigger (steps 45-48), exit (steps 66-69)", of each entry of `list` that has steps. */
static void say_why(struct textout *o, const char *what, const json_t *list, const char *key)
{
	enum { ENTRIES_SAID = 4, LINES = 2 };
	char text[400];
	size_t n = json_array_size(list), used = (size_t)snprintf(text, sizeof(text), "%s", what),
	       n_said = 0;
	for (size_t i = 0; i < n && used < sizeof(text); i++) {
		const json_t *entry = json_array_get(list, i);
		double count = report_number(entry, "n"), first = report_number(entry, "first");
		if (!(count > 0) || n_said++ >= ENTRIES_SAID)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s (step",
					 n_said > 1 ? ", " : ": ", report_string(entry, key));
		if (used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 count > 1 ? "s %.0f-%.0f)" : " %.0f)", first,
						 first + count - 1);
	}
	if (n_said > ENTRIES_SAID && used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, ", and %zu more", n_said - ENTRIES_SAID);
	if (n_said)
		text_wrap(o, TEXT_PLAIN, "         ", text, LINES);
}

/* Where a training's own schedule began anew, that is said (trains_from), and it is no delay. */
static void say_late(struct textout *o, const json_t *steps)
{
	char text[160];
	double n = report_number(steps, "schedule_late");
	if (!(n > 0) || json_object_get(steps, "trains_from"))
		return;
	snprintf(text, sizeof(text),
		 "%.0f step%s later than PROF_SCHEDULE says: steps were not known in time; "
		 "set a larger skip_first=, or PROF_STEP",
		 n, n > 1 ? "s" : "");
	text_wrap(o, TEXT_PLAIN, REPORT_UNDER, text, 2);
}

/* How many, of which the training's, where others were told before it; and which were recorded. */
static void say_count(struct textout *o, const json_t *steps)
{
	char numbers[80], of_training[OF_TRAINING_BYTES] = "";
	double count = report_number(steps, "count"), from = report_number(steps, "trains_from");
	if (json_object_get(steps, "trains_from")) {
		text_say(o, REPORT_UNDER,
			 "the training begins with step %.0f: those before, which no "
			 "optimizer ends, are in no figure",
			 from);
		snprintf(of_training, sizeof(of_training), ", %.0f of them the training's",
			 count - from);
	}
	report_numbers(numbers, sizeof(numbers), json_object_get(steps, "recorded"));
	text_say(o, REPORT_UNDER, "%.0f steps in all%s, by %s (confidence %.2f)%s%s", count,
		 of_training, report_string(steps, "detector"), report_number(steps, "confidence"),
		 *numbers ? "; recorded " : "; none recorded: all below is of the whole run",
		 numbers);
}

void report_steps_say(struct textout *o, const json_t *p)
{
	char p50[NUMBER_BYTES], p95[NUMBER_BYTES], most[NUMBER_BYTES];
	const json_t *steps = json_object_get(p, "steps"), *ms = report_step_lengths(p);
	const char *detector = report_string(steps, "detector");
	if (!json_is_object(ms)) {
		text_say(o, "step     ", "%s ms; %s",
			 report_ms(p50, sizeof(p50), report_step_ms(p)),
			 !strcmp(detector, "none")
				 ? "no steps were told apart: the run is taken as one"
				 : "too few steps to say how steady");
		return;
	}
	text_say(o, "step     ", "%s ms (median of %.0f), %s (cv %.0f %%): p95 %s, max %s",
		 report_ms(p50, sizeof(p50), report_number(ms, "p50")), report_number(ms, "n"),
		 how_steady(report_number(ms, "cv")), report_number(ms, "cv") * 100,
		 report_ms(p95, sizeof(p95), report_number(ms, "p95")),
		 report_ms(most, sizeof(most), report_number(ms, "max")));
	say_warm_up(o, p);
	say_slow(o, p);
	say_recorded(o, p);
	if (json_object_get(steps, "boundary"))
		text_say(o, REPORT_UNDER, "%.0f call%s a step; where it ends: %s",
			 report_number(steps, "period"),
			 report_number(steps, "period") > 1 ? "s" : "",
			 report_string(steps, "boundary"));
	const json_t *corrected = json_object_get(steps, "corrected");
	double before = report_number(corrected, "period_before");
	if (corrected && before == report_number(steps, "period"))
		text_say(o, REPORT_UNDER,
			 "cut at another call at first, and numbered anew: no figure is of those");
	else if (corrected)
		text_say(o, REPORT_UNDER,
			 "taken for steps of %.0f calls at first, and numbered anew: no figure is "
			 "of "
			 "those",
			 before);
	say_count(o, steps);
	say_late(o, steps);
	say_why(o, "asked for", json_object_get(steps, "triggers"), "by");
	say_why(o, "kept by the flight recorder", json_object_get(steps, "kept"), "why");
}
