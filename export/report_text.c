/* The first screen, and the order of what follows it. */
#include "export/report_text.h"

#include "core/util/path.h"
#include "export/report_gains.h"
#include "export/report_pages.h"
#include "export/report_ranks.h"
#include "export/report_steps.h"
#include "export/report_words.h"

#include <math.h>
#include <string.h>

enum {
	EVIDENCE_LINES = 3,
	REASONS_SAID = 3,
	ADVICE_SAID = 3,
	LINES_SAID = 3,
	TRUST_LINES = 2,
	DAMAGE_LINES = 5,
	GAPS_SAID = 3,
	GPUS_SAID = 2,
	CAUSES_SAID = 4,
	IDLE_COLUMNS = 74,
	LEAKS_SAID = 2,
	NUMBER_BYTES = 32,
	MEAN_BYTES = 64,
	PLACE_BYTES = 600,
	MOSTLY_LATE =
		2, /* times as much work behind the steps as in them: their busy time says little */
};

/* Memory that lasts for another week of steps is nobody's trouble; where there is no telling, from so many bytes a step on it is. */
#define GROWTH_LEFT_MOST_S (7 * 24 * 3600.0)
#define GROWTH_LEAST	   (1 << 16)

static const json_t *get(const json_t *o, const char *group, const char *name)
{
	return json_object_get(json_object_get(o, group), name);
}

static bool has_figures(const json_t *p)
{
	return report_step_ms(p) > 0 || json_array_size(json_object_get(p, "gpu"));
}

const json_t *report_main_process(const json_t *root)
{
	const json_t *processes = json_object_get(root, "processes"), *slowest;
	slowest = report_ranks_straggler(root);
	if (slowest) /* steps of all ranks take equally long, because of this one's */
		return slowest;
	for (size_t i = 0; i < json_array_size(processes); i++) {
		const json_t *p = json_array_get(processes, i);
		bool is_busier = slowest &&
				 json_array_size(json_object_get(p, "gpu")) >
					 json_array_size(json_object_get(slowest, "gpu"));
		if (has_figures(p) &&
		    (!slowest || is_busier || report_step_ms(p) > report_step_ms(slowest)))
			slowest = p;
	}
	return slowest;
}

/* ---- The lines of the first screen ---- */

/* Without the folder of its program. */
static const char *own_command(const json_t *p)
{
	const char *command = report_string(p, "command"), *base = command;
	for (const char *c = command; *c && *c != ' '; c++)
		base = *c == '/' ? c + 1 : base;
	return base;
}

/* As it was typed; of one process among several its own, which may be another program. Ranks are all the same. */
static void say_command(struct textout *o, const json_t *root, const json_t *p)
{
	char command[TEXT_BYTES] = "", fitted[TEXT_BYTES];
	bool is_own = json_array_size(json_object_get(root, "processes")) > 1 &&
		      !report_has_number(p, "rank");
	const json_t *words = is_own ? NULL : get(root, "run", "command");
	const char *cwd = json_string_value(get(root, "run", "cwd"));
	for (size_t i = 0; i < json_array_size(words); i++) {
		size_t used = strlen(command);
		const char *word = json_string_value(json_array_get(words, i));
		word = word ? report_short_path(word, cwd) : "?";
		if (!i) /* where the interpreter is says nothing */
			word = path_base(word);
		snprintf(command + used, sizeof(command) - used, "%s%s", i ? " " : "", word);
	}
	text_fit(fitted, sizeof(fitted), *command ? command : own_command(p), 60, CUT_MIDDLE);
	if (json_array_size(json_object_get(root, "processes")) > 1)
		text_line(o, TEXT_BOLD, "%s, %s %.0f", fitted,
			  report_has_number(p, "rank") ? "rank" : "process",
			  report_number(p, report_has_number(p, "rank") ? "rank" : "pid"));
	else
		text_line(o, TEXT_BOLD, "%s", fitted);
}

static void say_why_unknown(struct textout *o, const json_t *p)
{
	const json_t *gaps = json_object_get(p, "unavailable");
	const char *why = NULL;
	for (size_t i = 0; !why && i < json_array_size(gaps); i++)
		if (!strcmp(report_string(json_array_get(gaps, i), "what"), "what binds"))
			why = report_string(json_array_get(gaps, i), "why");
	text_wrap(o, TEXT_BOLD, "bound by ", "something that cannot be told", 1);
	if (why &&
	    json_array_size(json_object_get(p, "gpu"))) /* else the reasons follow, all of them */
		text_say(o, REPORT_UNDER "- ", "%s", why);
}

static void say_bound(struct textout *o, const json_t *p)
{
	const json_t *bound = json_object_get(p, "bound"),
		     *evidence = json_object_get(bound, "evidence");
	const char *verdict = report_string(bound, "verdict");
	const char *noun = report_verdict_noun(verdict);
	if (*noun)
		text_line(o, TEXT_BOLD, "bound by %s (confidence %.2f): %s", noun,
			  report_number(bound, "confidence"), report_verdict_words(verdict));
	else
		say_why_unknown(o, p);
	unsigned most = o->n_lines + EVIDENCE_LINES;
	for (size_t i = 0; i < json_array_size(evidence) && o->n_lines < most; i++)
		text_wrap(o, TEXT_PLAIN, "         - ",
			  json_string_value(json_array_get(evidence, i)), most - o->n_lines);
}

static void say_gpus(struct textout *o, const json_t *p)
{
	char busy[NUMBER_BYTES], idle[NUMBER_BYTES];
	const json_t *gpus = json_object_get(p, "gpu");
	size_t n = json_array_size(gpus);
	for (size_t i = 0; i < n && i < GPUS_SAID; i++) {
		const json_t *g = json_array_get(gpus, i);
		bool is_apart = report_has_number(g, "usual_busy_ms");
		double busy_ms = report_number(g, is_apart ? "usual_busy_ms" : "busy_ms_per_step"),
		       idle_ms = report_number(g, is_apart ? "usual_idle_ms" : "idle_ms_per_step"),
		       late_ms = report_number(g, "late_ms_per_step"),
		       kernels = report_number(g, is_apart ? "usual_kernels" : "kernels_per_step"),
		       pct = report_number(g, "busy_pct");
		if (is_apart && busy_ms + idle_ms > 0)
			pct = 100 * busy_ms / (busy_ms + idle_ms);
		text_line(o, TEXT_PLAIN,
			  "GPU %-4.0f busy %.0f %%: works %s ms of a%s step, idle %s ms; %.0f "
			  "kernel%s",
			  report_number(g, "device"), pct, report_ms(busy, sizeof(busy), busy_ms),
			  is_apart ? " usual" : "", report_ms(idle, sizeof(idle), idle_ms), kernels,
			  kernels >= 0.5 && kernels < 1.5 ? "" : "s");
		if (late_ms > MOSTLY_LATE * busy_ms)
			text_say(o, REPORT_UNDER,
				 "%s ms of its work a step ran when the recorded steps were over",
				 report_ms(busy, sizeof(busy), late_ms));
	}
	if (n > GPUS_SAID)
		text_line(o, TEXT_PLAIN, "         and %zu more GPUs", n - GPUS_SAID);
}

#define LEAST_MS 0.0005 /* less is 0.000 */

/* Idle time of all devices by cause, the largest first; causes come as one row per place. */
static void say_idle(struct textout *o, const json_t *p)
{
	struct {
		const char *cause;
		double ms;
	} sums[16];
	size_t n = 0;
	char line[TEXT_BYTES] = "idle     because of: ", ms[NUMBER_BYTES];
	const json_t *idle = json_object_get(p, "idle");
	for (size_t i = 0; i < json_array_size(idle); i++) {
		const json_t *x = json_array_get(idle, i);
		const char *cause = report_string(x, "cause");
		size_t k = 0;
		while (k < n && strcmp(sums[k].cause, cause) != 0)
			k++;
		if (k == n && n < sizeof(sums) / sizeof(*sums)) {
			sums[n].cause = cause;
			sums[n++].ms = 0;
		}
		if (k < n)
			sums[k].ms += report_number(
				x, report_has_number(x, "usual_ms") ? "usual_ms" : "ms_per_step");
	}
	for (size_t said = 0; said < n && said < CAUSES_SAID; said++) {
		char item[80];
		size_t most = 0;
		for (size_t k = 1; k < n; k++)
			most = sums[k].ms > sums[most].ms ? k : most;
		snprintf(item, sizeof(item), "%s%s %s", said ? ", " : "",
			 report_cause_noun(sums[most].cause),
			 report_ms(ms, sizeof(ms), sums[most].ms));
		if (sums[most].ms < LEAST_MS || text_width(line) + text_width(item) > IDLE_COLUMNS)
			break;
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s", item);
		sums[most].ms = -1;
	}
	if (strchr(line, '.'))
		text_line(o, TEXT_PLAIN, "%s ms", line);
}

static double phase_ms(const json_t *x)
{
	return report_number(x, report_has_number(x, "usual_host_ms") ? "usual_host_ms"
								      : "host_ms_per_step");
}

/* The longest first, which of usual steps may be another one than of all. */
static void say_phases(struct textout *o, const json_t *p)
{
	char line[TEXT_BYTES] = "", ms[NUMBER_BYTES];
	json_t *left = json_copy(json_object_get(p, "phases"));
	while (json_array_size(left)) {
		size_t longest = 0, used = strlen(line);
		for (size_t i = 1; i < json_array_size(left); i++)
			if (phase_ms(json_array_get(left, i)) >
			    phase_ms(json_array_get(left, longest)))
				longest = i;
		const json_t *x = json_array_get(left, longest);
		if (phase_ms(x) >= LEAST_MS)
			snprintf(line + used, sizeof(line) - used, "%s%s %s", used ? ", " : "",
				 report_string(x, "name"), report_ms(ms, sizeof(ms), phase_ms(x)));
		json_array_remove(left, longest);
	}
	json_decref(left);
	if (*line)
		text_say(o, "phases   ", "%s ms", line);
}

/* "30 s", "11 min": of what is no more than about so long. */
static char *about_long(char *to, size_t bytes, double seconds)
{
	static const struct {
		double seconds;
		const char *name;
	} units[] = { { 1, "s" }, { 60, "min" }, { 3600, "h" }, { 86400, "days" } };
	size_t unit = 0;
	while (unit + 1 < sizeof(units) / sizeof(*units) && seconds >= 2 * units[unit + 1].seconds)
		unit++;
	snprintf(to, bytes, "%.0f %s", seconds / units[unit].seconds, units[unit].name);
	return to;
}

/* Two digits: more would promise too much. */
static double rounded(double value)
{
	double unit = value >= 100 ? pow(10, floor(log10(value)) - 1) : 1;
	return round(value / unit) * unit;
}

/* Which lines make what stays, the first ones. */
static void say_leaks(struct textout *o, const json_t *leaks, const char *cwd)
{
	char text[TEXT_BYTES], bytes[NUMBER_BYTES], place[PLACE_BYTES], fitted[TEXT_BYTES];
	size_t used = 0;
	for (size_t i = 0; i < json_array_size(leaks) && i < LEAKS_SAID && used < sizeof(text);
	     i++) {
		const json_t *x = json_array_get(leaks, i);
		const char *what = report_string(x, "what");
		text_fit(fitted, sizeof(fitted),
			 *what ? what : report_place(place, sizeof(place), x, cwd), 40, CUT_HEAD);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s (%s)",
					 i ? ", " : "what stays is made at ", fitted,
					 report_bytes(bytes, sizeof(bytes),
						      report_number(x, "bytes_per_step")));
	}
	if (used)
		text_wrap(o, TEXT_PLAIN, REPORT_UNDER, text, 2);
}

static void say_growth(struct textout *o, const json_t *p, const char *cwd)
{
	const json_t *memory = json_object_get(p, "memory"),
		     *growth = json_object_get(memory, "growth");
	double per_step = report_number(growth, "bytes_per_step"),
	       steps = report_number(growth, "steps_left"),
	       left_s = steps * report_step_ms(p) / 1e3;
	bool is_known = report_has_number(growth, "steps_left");
	char text[TEXT_BYTES], bytes[NUMBER_BYTES], time[NUMBER_BYTES];
	if (!(per_step > 0) || (is_known ? left_s > GROWTH_LEFT_MOST_S : per_step < GROWTH_LEAST))
		return;
	size_t used = (size_t)snprintf(text, sizeof(text), "grows by %s a step",
				       report_bytes(bytes, sizeof(bytes), per_step));
	if (is_known)
		snprintf(text + used, sizeof(text) - used, ": %s are full in %.0f more steps, %s",
			 report_bytes(bytes, sizeof(bytes), report_number(growth, "device_bytes")),
			 rounded(steps), about_long(time, sizeof(time), left_s));
	text_wrap(o, TEXT_RED, "memory   ", text, 2);
	say_leaks(o, json_object_get(memory, "leaks"), cwd);
}

/* ---- Lines of code ---- */

/* Two lines: what it wins and where; what to do. */
static void say_one_advice(struct textout *o, const json_t *p, const json_t *a, const char *cwd)
{
	char place[PLACE_BYTES], fitted[TEXT_BYTES], gain[2 * NUMBER_BYTES], inner[PLACE_BYTES];
	bool has_place = json_is_string(json_object_get(a, "where"));
	report_gain(gain, sizeof(gain), p, a);
	report_place(place, sizeof(place), a, cwd);
	text_fit(fitted, sizeof(fitted), place, 40, CUT_HEAD);
	if (!*report_inner(inner, sizeof(inner), a) && has_place)
		snprintf(inner, sizeof(inner), "%s", report_string(a, "source"));
	text_line(o, TEXT_GREEN, "%s%s  %s", gain, has_place ? fitted : report_string(a, "what"),
		  inner);
	if (has_place)
		text_line(o, TEXT_PLAIN, "%*s%s", (int)strlen(gain), "", report_string(a, "what"));
}

/* Of the advice behind the first `n`, what mends what the verdict rests on, if none of those does; NULL: there is none, or need not be. */
static const json_t *verdicts_advice(const json_t *p, size_t n)
{
	const json_t *advice = json_object_get(p, "advice");
	const char *verdict = report_string(json_object_get(p, "bound"), "verdict");
	for (size_t i = 0; i < json_array_size(advice); i++) {
		const json_t *a = json_array_get(advice, i);
		if (!strcmp(report_string(a, "cause"), verdict))
			return i < n ? NULL : a;
	}
	return NULL;
}

/* The first `most`, and the verdict's: of usual steps, or those that few steps win, which are of another length. */
static void say_rows(struct textout *o, const json_t *p, const char *cwd, size_t most, bool is_rare)
{
	const json_t *advice = json_object_get(p, "advice"), *verdicts = verdicts_advice(p, most);
	bool has_heading = !is_rare;
	for (size_t i = 0; i < json_array_size(advice); i++) {
		const json_t *a = json_array_get(advice, i);
		if ((i >= most && a != verdicts) || report_gain_is_rare(a) != is_rare)
			continue;
		if (!has_heading)
			report_gains_rare_heading(o, p);
		has_heading = true;
		say_one_advice(o, p, a, cwd);
	}
}

static void say_advice(struct textout *o, const json_t *p, const char *cwd, unsigned most_lines)
{
	const json_t *advice = json_object_get(p, "advice");
	size_t n = json_array_size(advice);
	unsigned most = most_lines < REPORT_SCREEN_LINES ? ADVICE_SAID - 1 : ADVICE_SAID;
	if (!n) {
		if (*report_verdict_noun(report_string(json_object_get(p, "bound"), "verdict")))
			text_line(o, TEXT_PLAIN,
				  "No single line was found whose mending would make steps notably "
				  "shorter.");
		return;
	}
	report_gains_heading(o, p);
	say_rows(o, p, cwd, most, false);
	report_gains_sum(o, p, most);
	say_rows(o, p, cwd, most, true);
}

/* As many as there is room for, above what comes last. */
static void say_lines(struct textout *o, const json_t *p, const char *cwd, unsigned most_lines)
{
	static const struct text_column columns[] = {
		{ "line", COLUMN_PLACE },    { "GPU ms", COLUMN_NUMBER },
		{ "CPU ms", COLUMN_NUMBER }, { "launches", COLUMN_NUMBER },
		{ "", COLUMN_TEXT },
	};
	struct text_table t;
	char mean[MEAN_BYTES];
	const json_t *lines = json_object_get(p, "lines");
	unsigned taken = o->n_lines + TRUST_LINES + 2;
	size_t room = taken < most_lines ? most_lines - taken : 0, n = json_array_size(lines);
	n = n < LINES_SAID ? n : LINES_SAID;
	n = n < room ? n : room;
	if (!n)
		return;
	table_start(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(lines, i);
		char place[PLACE_BYTES], gpu[NUMBER_BYTES], host[NUMBER_BYTES];
		table_cell(&t, "%s", report_place(place, sizeof(place), x, cwd));
		table_cell(&t, "%s", report_ms_of(gpu, sizeof(gpu), x, "gpu_ms_per_step"));
		table_cell(&t, "%s", report_ms_of(host, sizeof(host), x, "host_ms_per_step"));
		table_cell(&t, "%.0f", report_number(x, "launches_per_step"));
		table_cell(&t, "%s", report_string(x, "source"));
	}
	text_line(o, TEXT_BOLD, "What lines cost, %s%s",
		  json_array_size(get(p, "steps", "recorded")) ? "per step" : "in the whole run",
		  report_mean_of(mean, sizeof(mean), p));
	table_end(&t, o);
}

/* "; cannot be said: phases, idle of GPU 1", "" if there are none. */
static void name_gaps(char *to, size_t bytes, const json_t *gaps)
{
	size_t n = json_array_size(gaps), used = 0;
	to[0] = 0;
	for (size_t i = 0; i < n && i < GAPS_SAID && used < bytes; i++)
		used += (size_t)snprintf(to + used, bytes - used, "%s%.40s",
					 i ? ", " : "; cannot be said: ",
					 report_string(json_array_get(gaps, i), "what"));
	if (n > GAPS_SAID && used < bytes)
		snprintf(to + used, bytes - used, ", and %zu more", n - GAPS_SAID);
}

/* How far the figures may be believed. */
static void say_trust(struct textout *o, const json_t *p)
{
	char line[TEXT_BYTES] = "", cost[120];
	const json_t *replay = json_object_get(p, "replay"), *self = json_object_get(p, "self");
	double dropped = report_number(self, "dropped");
	size_t used;
	if (json_is_object(replay))
		snprintf(line, sizeof(line), "replayed within %.1f %%; ",
			 fabs(report_number(replay, "error_pct")));
	used = strlen(line);
	report_overhead(cost, sizeof(cost), self);
	if (*cost)
		snprintf(line + used, sizeof(line) - used, "%s; ", cost);
	used = strlen(line);
	if (dropped > 0)
		snprintf(line + used, sizeof(line) - used, "%.0f records were dropped", dropped);
	else
		snprintf(line + used, sizeof(line) - used, "nothing was dropped");
	used = strlen(line);
	name_gaps(line + used, sizeof(line) - used, json_object_get(p, "unavailable"));
	text_wrap(o, dropped > 0 ? TEXT_RED : TEXT_DIM, "", line, TRUST_LINES);
}

/* Nothing was measured: then the reasons are all there is to say. A run's summary has told of its steps (`steps_are_told`). */
static void say_reasons(struct textout *o, const json_t *p, bool steps_are_told)
{
	const json_t *gaps = json_object_get(p, "unavailable");
	if (json_array_size(json_object_get(p, "gpu")))
		return;
	unsigned n_said = 0;
	for (size_t i = 0; i < json_array_size(gaps) && n_said < REASONS_SAID; i++) {
		const json_t *gap = json_array_get(gaps, i);
		if (steps_are_told && !strcmp(report_string(gap, "what"), "steps"))
			continue;
		text_wrap(o, TEXT_PLAIN, "         - ", report_string(gap, "why"), 3);
		n_said++;
	}
}

/* Without GPU times a wait is no more than a call that takes long, but that much is known of it. */
static void say_longest(struct textout *o, const json_t *p, const char *cwd)
{
	char place[PLACE_BYTES], ms[NUMBER_BYTES];
	const json_t *lines = json_object_get(p, "lines"), *longest = json_array_get(lines, 0);
	if (json_array_size(json_object_get(p, "gpu")) ||
	    !json_array_size(get(p, "steps", "recorded")) || !longest)
		return;
	for (size_t i = 1; i < json_array_size(lines); i++)
		if (report_number(json_array_get(lines, i), "host_ms_per_step") >
		    report_number(longest, "host_ms_per_step"))
			longest = json_array_get(lines, i);
	text_say(o, REPORT_UNDER "- ", "CUDA calls take the host longest at %s: %s ms of a step",
		 report_place(place, sizeof(place), longest, cwd),
		 report_ms_of(ms, sizeof(ms), longest, "host_ms_per_step"));
}

/* What the parts below have in full is left out where they follow. */
static void say_process(struct textout *o, const json_t *root, const json_t *p, unsigned most_lines,
			bool parts_follow)
{
	const char *cwd = json_string_value(get(root, "run", "cwd"));
	char death[160];
	say_command(o, root, p);
	report_steps_say(o, p);
	if (*report_death(death, sizeof(death), json_object_get(root, "run"), p))
		text_wrap(o, TEXT_RED, REPORT_UNDER, death, 2);
	if (*report_string(p, "damage"))
		text_wrap(o, TEXT_RED, REPORT_UNDER, report_string(p, "damage"), DAMAGE_LINES);
	say_bound(o, p);
	say_reasons(o, p, !parts_follow);
	say_longest(o, p, cwd);
	say_gpus(o, p);
	say_idle(o, p);
	say_phases(o, p);
	say_growth(o, p, cwd);
	report_ranks_say_straggler(o, root);
	if (!parts_follow || !json_array_size(json_object_get(p, "advice")))
		say_advice(o, p, cwd, most_lines);
	if (!parts_follow)
		say_lines(o, p, cwd, most_lines);
	say_trust(o, p);
}

static void say_screen(struct textout *o, const json_t *root, unsigned most_lines,
		       bool parts_follow)
{
	const json_t *p = report_main_process(root);
	if (p) {
		say_process(o, root, p, most_lines, parts_follow);
		return;
	}
	text_line(o, TEXT_PLAIN, "no process of this run has any steps to report on");
	say_reasons(o, json_array_get(json_object_get(root, "processes"), 0), !parts_follow);
}

void report_text_screen(struct textout *o, const json_t *root, unsigned most_lines)
{
	say_screen(o, root, most_lines, false);
}

/* ---- All of it ---- */

static void say_others(struct textout *o, const json_t *root, const json_t *p)
{
	static const struct text_column columns[] = {
		{ "process", COLUMN_NUMBER },  { "rank", COLUMN_NUMBER },
		{ "step ms", COLUMN_NUMBER },  { "p95", COLUMN_NUMBER },
		{ "GPU busy", COLUMN_NUMBER }, { "bound by", COLUMN_TEXT },
	};
	struct text_table t;
	const json_t *processes = json_object_get(root, "processes");
	size_t n = json_array_size(processes);
	if (n < 2)
		return;
	if (json_object_get(root, "ranks")) {
		report_ranks_say(o, root);
		return;
	}
	text_line(o, TEXT_PLAIN, "%s", "");
	text_line(o, TEXT_BOLD, "All %zu processes; the parts below are about %s %.0f", n,
		  report_has_number(p, "rank") ? "rank" : "process",
		  report_number(p, report_has_number(p, "rank") ? "rank" : "pid"));
	table_start(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(processes, i),
			     *gpu = json_array_get(json_object_get(x, "gpu"), 0);
		char ms[NUMBER_BYTES];
		table_cell(&t, "%.0f", report_number(x, "pid"));
		table_cell(&t, report_has_number(x, "rank") ? "%.0f" : "-",
			   report_number(x, "rank"));
		table_cell(&t, "%s", report_ms(ms, sizeof(ms), report_step_ms(x)));
		table_cell(&t, "%s",
			   report_ms(ms, sizeof(ms), report_number(report_step_lengths(x), "p95")));
		table_cell(&t, gpu ? "%.0f %%" : "-", report_number(gpu, "busy_pct"));
		table_cell(&t, "%s", report_string(json_object_get(x, "bound"), "verdict"));
	}
	table_end(&t, o);
}

void report_text_all(struct textout *o, const json_t *root, unsigned top)
{
	const json_t *p = report_main_process(root);
	const struct report_view view = { .out = o,
					  .process = p,
					  .cwd = json_string_value(get(root, "run", "cwd")),
					  .top = top };
	say_screen(o, root, REPORT_SCREEN_LINES, true);
	if (!p)
		return;
	say_others(o, root, p);
	report_pages(&view);
}
