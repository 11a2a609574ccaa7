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
	EVIDENCE_SAID = 3,
	REASONS_SAID = 3,
	ADVICE_SAID = 3,
	LINES_SAID = 3,
	TRUST_LINES = 2,
	DAMAGE_LINES = 5,
	GAPS_SAID = 3,
	GPUS_SAID = 2,
	CAUSES_SAID = 4,
	LEAKS_SAID = 2,
	NUMBER_BYTES = 32,
	MEAN_BYTES = 64,
	PLACE_BYTES = 600,
	NAME_BYTES = 40,
	MOSTLY_LATE =
		2, /* times as much work behind the steps as in them: their busy time says little */
};

/* Memory that lasts for another week of steps is nobody's trouble; where there is no telling, from so many bytes a step on it is. */
#define GROWTH_LEFT_MOST_S (7 * 24 * 3600.0)
#define GROWTH_LEAST	   (1 << 16)

static bool has_figures(const struct report_process *p)
{
	return report_step_ms(p) > 0 || p->gpu.n;
}

const struct report_process *report_main_process(const struct report *r)
{
	const struct report_process *slowest = report_ranks_straggler(r);
	if (slowest) /* steps of all ranks take equally long, because of this one's */
		return slowest;
	for (size_t i = 0; i < r->processes.n; i++) {
		const struct report_process *p = r->processes.at[i];
		bool is_busier = slowest && p->gpu.n > slowest->gpu.n;
		if (has_figures(p) &&
		    (!slowest || is_busier || report_step_ms(p) > report_step_ms(slowest)))
			slowest = p;
	}
	return slowest;
}

/* ---- The lines of the first screen ---- */

/* Without the folder of its program. */
static const char *own_command(const struct report_process *p)
{
	const char *command = p->facts.command, *base = command;
	for (const char *c = command; *c && *c != ' '; c++)
		base = *c == '/' ? c + 1 : base;
	return base;
}

/* "rank 3", "process 123". Returns `to`. */
static char *name_of(char *to, size_t bytes, const struct report_process *p)
{
	bool has_rank = p->rank >= 0;
	snprintf(to, bytes, "%s %lld", has_rank ? "rank" : "process",
		 (long long)(has_rank ? p->rank : p->facts.pid));
	return to;
}

/* As it was typed; of one process among several its own, which may be another program. Ranks are all the same. */
static void say_command(struct textout *o, const struct report *r, const struct report_process *p)
{
	char command[TEXT_BYTES] = "", fitted[TEXT_BYTES], name[NAME_BYTES];
	bool is_own = r->processes.n > 1 && p->rank < 0;
	for (size_t i = 0; !is_own && i < r->run.command.n; i++) {
		size_t used = strlen(command);
		const char *word = report_short_path(r->run.command.at[i], r->run.cwd);
		if (!i) /* where the interpreter is says nothing */
			word = path_base(word);
		snprintf(command + used, sizeof(command) - used, "%s%s", i ? " " : "", word);
	}
	text_fit(fitted, sizeof(fitted), *command ? command : own_command(p), 60, CUT_MIDDLE);
	if (r->processes.n > 1)
		text_line(o, TEXT_BOLD, "%s, %s", fitted, name_of(name, sizeof(name), p));
	else
		text_line(o, TEXT_BOLD, "%s", fitted);
}

static void say_why_unknown(struct textout *o, const struct report_process *p)
{
	const char *why = NULL;
	for (size_t i = 0; !why && i < p->unavailable.n; i++)
		if (!strcmp(p->unavailable.at[i].what, "bottleneck"))
			why = p->unavailable.at[i].why;
	text_line(o, TEXT_BOLD, "Bottleneck unclear");
	if (why && p->gpu.n) /* else the reasons follow, all of them */
		text_say(o, REPORT_UNDER "- ", "%s", why);
}

static void say_bound(struct textout *o, const struct report_process *p)
{
	const struct report_bound *b = &p->bound;
	const char *title = report_verdict_noun(b->verdict);
	if (*title)
		text_line(o, TEXT_BOLD, "%s (confidence %.0f %%): %s", title, b->confidence * 100,
			  report_verdict_words(b->verdict));
	else
		say_why_unknown(o, p);
	for (size_t i = 0; i < b->evidence.n && i < EVIDENCE_SAID; i++)
		text_say(o, REPORT_UNDER "- ", "%s", b->evidence.at[i]);
}

static void say_gpu(struct textout *o, const struct report_gpu *g)
{
	char busy[NUMBER_BYTES], idle[NUMBER_BYTES];
	bool is_apart = isfinite(g->usual_busy_ms);
	double busy_ms = is_apart ? g->usual_busy_ms : g->busy_ms,
	       idle_ms = is_apart ? g->usual_idle_ms : g->idle_ms,
	       kernels = is_apart ? g->usual_kernels : g->kernels, pct = g->busy_pct;
	if (is_apart && busy_ms + idle_ms > 0)
		pct = 100 * busy_ms / (busy_ms + idle_ms);
	text_line(o, TEXT_PLAIN,
		  "GPU %-4lld utilization %.0f %% (%s ms per%s step), idle %s ms, %.0f kernel%s",
		  (long long)g->device, pct, report_ms(busy, sizeof(busy), busy_ms),
		  is_apart ? " typical" : "", report_ms(idle, sizeof(idle), idle_ms), kernels,
		  kernels >= 0.5 && kernels < 1.5 ? "" : "s");
	if (g->late_ms > MOSTLY_LATE * busy_ms)
		text_say(o, REPORT_UNDER, "%s ms of its work per step ran after the recorded steps",
			 report_ms(busy, sizeof(busy), g->late_ms));
}

static void say_gpus(struct textout *o, const struct report_process *p)
{
	for (size_t i = 0; i < p->gpu.n && i < GPUS_SAID; i++)
		say_gpu(o, &p->gpu.at[i]);
	if (p->gpu.n > GPUS_SAID)
		text_line(o, TEXT_PLAIN, "         and %zu more GPUs", p->gpu.n - GPUS_SAID);
}

#define LEAST_MS 0.0005 /* less is 0.000 */

struct sum {
	const char *name;
	double ms;
};

/* Of idle time by cause, which comes as one row per place and device. How many causes there are. */
static size_t sum_idle(const struct report_process *p, struct sum *sums, size_t most)
{
	size_t n = 0;
	for (size_t i = 0; i < p->idle.n; i++) {
		const struct report_idle *x = &p->idle.at[i];
		size_t k = 0;
		while (k < n && strcmp(sums[k].name, x->cause) != 0)
			k++;
		if (k == n && n < most)
			sums[n++] = (struct sum){ x->cause, 0 };
		if (k < n)
			sums[k].ms += isfinite(x->usual_ms) ? x->usual_ms : x->ms;
	}
	return n;
}

/* The largest, which is taken out. */
static struct sum take_largest(struct sum *sums, size_t n)
{
	size_t largest = 0;
	for (size_t i = 1; i < n; i++)
		largest = sums[i].ms > sums[largest].ms ? i : largest;
	struct sum found = sums[largest];
	sums[largest].ms = -1;
	return found;
}

/* The largest causes first. */
static void say_idle(struct textout *o, const struct report_process *p)
{
	struct sum sums[16];
	size_t n = sum_idle(p, sums, sizeof(sums) / sizeof(*sums)), used = 0;
	char text[TEXT_BYTES], ms[NUMBER_BYTES];
	for (size_t i = 0; i < n && i < CAUSES_SAID; i++) {
		struct sum x = take_largest(sums, n);
		if (x.ms < LEAST_MS)
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s", i ? ", " : "",
					 report_cause_noun(x.name),
					 report_ms(ms, sizeof(ms), x.ms));
	}
	if (used)
		text_say(o, "GPU idle ", "time by cause: %s ms", text);
}

/* The longest first: of usual steps that may be another one than of all. */
static void say_phases(struct textout *o, const struct report_process *p)
{
	struct sum sums[16];
	size_t n = 0;
	char line[TEXT_BYTES] = "", ms[NUMBER_BYTES];
	for (size_t i = 0; i < p->phases.n && n < sizeof(sums) / sizeof(*sums); i++) {
		const struct report_phase *x = &p->phases.at[i];
		sums[n++] = (struct sum){ x->name, isfinite(x->usual_host_ms) ? x->usual_host_ms
									      : x->host_ms };
	}
	for (size_t i = 0; i < n; i++) {
		struct sum x = take_largest(sums, n);
		size_t used = strlen(line);
		if (x.ms >= LEAST_MS)
			snprintf(line + used, sizeof(line) - used, "%s%s %s", used ? ", " : "",
				 x.name, report_ms(ms, sizeof(ms), x.ms));
	}
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
static void say_leaks(struct textout *o, const struct report_memory *m, const char *cwd)
{
	char text[TEXT_BYTES], bytes[NUMBER_BYTES], place[PLACE_BYTES], fitted[TEXT_BYTES];
	size_t used = 0;
	for (size_t i = 0; i < m->leaks.n && i < LEAKS_SAID && used < sizeof(text); i++) {
		const struct report_block *x = &m->leaks.at[i];
		text_fit(fitted, sizeof(fitted),
			 *x->what ? x->what : report_place(place, sizeof(place), &x->place, cwd),
			 40, CUT_HEAD);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s (%s)",
					 i ? ", " : "allocated at ", fitted,
					 report_bytes(bytes, sizeof(bytes), x->bytes));
	}
	if (used)
		text_wrap(o, TEXT_PLAIN, REPORT_UNDER, text, 2);
}

static void say_growth(struct textout *o, const struct report_process *p, const char *cwd)
{
	const struct report_growth *g = p->memory.growth;
	char text[TEXT_BYTES], bytes[NUMBER_BYTES], time[NUMBER_BYTES];
	if (!g)
		return;
	bool is_known = isfinite(g->steps_left);
	double left_s = g->steps_left * report_step_ms(p) / 1e3;
	if (is_known ? left_s > GROWTH_LEFT_MOST_S : g->bytes_per_step < GROWTH_LEAST)
		return;
	size_t used = (size_t)snprintf(text, sizeof(text), "grows by %s per step",
				       report_bytes(bytes, sizeof(bytes), g->bytes_per_step));
	if (is_known)
		snprintf(text + used, sizeof(text) - used, ": %s full in %.0f more steps (%s)",
			 report_bytes(bytes, sizeof(bytes), (double)g->device_bytes),
			 rounded(g->steps_left), about_long(time, sizeof(time), left_s));
	text_wrap(o, TEXT_RED, "memory   ", text, 2);
	say_leaks(o, &p->memory, cwd);
}

/* ---- Lines of code ---- */

/* Two lines: what it wins and where; what to do. */
static void say_one_advice(struct textout *o, const struct report_process *p,
			   const struct report_advice *a, const char *cwd)
{
	char place[PLACE_BYTES], fitted[TEXT_BYTES], gain[2 * NUMBER_BYTES], inner[PLACE_BYTES];
	report_gain(gain, sizeof(gain), p, a);
	report_place(place, sizeof(place), &a->place, cwd);
	text_fit(fitted, sizeof(fitted), place, 40, CUT_HEAD);
	if (!*report_inner(inner, sizeof(inner), a->inner) && *a->where)
		snprintf(inner, sizeof(inner), "%s", a->source);
	text_line(o, TEXT_GREEN, "%s%s  %s", gain, *a->where ? fitted : a->what, inner);
	if (*a->where)
		text_line(o, TEXT_PLAIN, "%*s%s", (int)strlen(gain), "", a->what);
}

/* Of the advice behind the first `n`, what mends what the verdict rests on, if none of those does; NULL: there is none, or need not be. */
static const struct report_advice *verdicts_advice(const struct report_process *p, size_t n)
{
	for (size_t i = 0; i < p->advice.n; i++) {
		const struct report_advice *a = &p->advice.at[i];
		if (!strcmp(a->cause, p->bound.verdict))
			return i < n ? NULL : a;
	}
	return NULL;
}

/* The first `most`, and the verdict's: of usual steps, or those that few steps win, which are of another length. */
static void say_rows(struct textout *o, const struct report_process *p, const char *cwd,
		     size_t most, bool is_rare)
{
	const struct report_advice *verdicts = verdicts_advice(p, most);
	bool has_heading = !is_rare;
	for (size_t i = 0; i < p->advice.n; i++) {
		const struct report_advice *a = &p->advice.at[i];
		if ((i >= most && a != verdicts) || report_gain_is_rare(a) != is_rare)
			continue;
		if (!has_heading)
			report_gains_rare_heading(o, p);
		has_heading = true;
		say_one_advice(o, p, a, cwd);
	}
}

static void say_advice(struct textout *o, const struct report_process *p, const char *cwd,
		       unsigned most_lines)
{
	unsigned most = most_lines < REPORT_SCREEN_LINES ? ADVICE_SAID - 1 : ADVICE_SAID;
	if (!p->advice.n) {
		if (*report_verdict_noun(p->bound.verdict))
			text_line(o, TEXT_PLAIN, "No change to a single line would save much.");
		return;
	}
	report_gains_heading(o, p);
	say_rows(o, p, cwd, most, false);
	report_gains_sum(o, p, most);
	say_rows(o, p, cwd, most, true);
}

/* As many as there is room for, above what comes last. */
static void say_lines(struct textout *o, const struct report_process *p, const char *cwd,
		      unsigned most_lines)
{
	static const struct text_column columns[] = {
		{ "line", COLUMN_PLACE },    { "GPU ms", COLUMN_NUMBER },
		{ "CPU ms", COLUMN_NUMBER }, { "launches", COLUMN_NUMBER },
		{ "", COLUMN_TEXT },
	};
	struct text_table t;
	char mean[MEAN_BYTES], place[PLACE_BYTES], ms[NUMBER_BYTES];
	unsigned taken = o->n_lines + TRUST_LINES + 2;
	size_t room = taken < most_lines ? most_lines - taken : 0, n = p->lines.n;
	n = n < LINES_SAID ? n : LINES_SAID;
	n = n < room ? n : room;
	if (!n)
		return;
	table_start(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < n; i++) {
		const struct report_line *x = &p->lines.at[i];
		table_cell(&t, "%s", report_place(place, sizeof(place), &x->place, cwd));
		table_cell(&t, "%s", report_ms_or_dash(ms, sizeof(ms), x->gpu_ms));
		table_cell(&t, "%s", report_ms_or_dash(ms, sizeof(ms), x->host_ms));
		table_cell(&t, "%.0f", x->launches);
		table_cell(&t, "%s", x->source);
	}
	text_line(o, TEXT_BOLD, "Time by line, %s%s",
		  p->facts.steps.recorded.n ? "per step" : "in the whole run",
		  report_mean_of(mean, sizeof(mean), p));
	table_end(&t, o);
}

/* "; cannot be said: phases, idle of GPU 1", "" if there are none. */
static void name_gaps(char *to, size_t bytes, const struct report_process *p)
{
	size_t n = p->unavailable.n, used = 0;
	to[0] = 0;
	for (size_t i = 0; i < n && i < GAPS_SAID && used < bytes; i++)
		used += (size_t)snprintf(to + used, bytes - used, "%s%.40s",
					 i ? ", " : "; not available: ", p->unavailable.at[i].what);
	if (n > GAPS_SAID && used < bytes)
		snprintf(to + used, bytes - used, ", and %zu more", n - GAPS_SAID);
}

/* How far the figures may be believed. */
static void say_trust(struct textout *o, const struct report_process *p)
{
	char line[TEXT_BYTES] = "", cost[120];
	size_t used;
	if (p->replay)
		snprintf(line, sizeof(line), "model error %.1f %%; ", fabs(p->replay->error_pct));
	used = strlen(line);
	report_overhead(cost, sizeof(cost), &p->self.overhead);
	if (*cost)
		snprintf(line + used, sizeof(line) - used, "%s; ", cost);
	used = strlen(line);
	if (p->self.dropped > 0)
		snprintf(line + used, sizeof(line) - used, "%lld records dropped",
			 (long long)p->self.dropped);
	else
		snprintf(line + used, sizeof(line) - used, "no records dropped");
	used = strlen(line);
	name_gaps(line + used, sizeof(line) - used, p);
	text_wrap(o, p->self.dropped > 0 ? TEXT_RED : TEXT_DIM, "", line, TRUST_LINES);
}

/* Nothing was measured: then the reasons are all there is to say. A run's summary has told of its steps (`steps_are_told`). */
static void say_reasons(struct textout *o, const struct report_process *p, bool steps_are_told)
{
	unsigned n_said = 0;
	if (p->gpu.n)
		return;
	for (size_t i = 0; i < p->unavailable.n && n_said < REASONS_SAID; i++) {
		const struct report_gap *gap = &p->unavailable.at[i];
		if (steps_are_told && !strcmp(gap->what, "steps"))
			continue;
		text_wrap(o, TEXT_PLAIN, "         - ", gap->why, 3);
		n_said++;
	}
}

/* Without GPU times a wait is no more than a call that takes long, but that much is known of it. */
static void say_longest(struct textout *o, const struct report_process *p, const char *cwd)
{
	char place[PLACE_BYTES], ms[NUMBER_BYTES];
	if (p->gpu.n || !p->facts.steps.recorded.n || !p->lines.n)
		return;
	const struct report_line *longest = &p->lines.at[0];
	for (size_t i = 1; i < p->lines.n; i++)
		if (p->lines.at[i].host_ms > longest->host_ms)
			longest = &p->lines.at[i];
	text_say(o, REPORT_UNDER "- ", "most CPU time in CUDA calls: %s, %s ms per step",
		 report_place(place, sizeof(place), &longest->place, cwd),
		 report_ms(ms, sizeof(ms), longest->host_ms));
}

/* What the parts below have in full is left out where they follow. */
static void say_process(struct textout *o, const struct report *r, const struct report_process *p,
			unsigned most_lines, bool parts_follow)
{
	const char *cwd = r->run.cwd;
	char death[160];
	say_command(o, r, p);
	report_steps_say(o, p);
	if (*report_death(death, sizeof(death), &r->run, &p->facts))
		text_wrap(o, TEXT_RED, REPORT_UNDER, death, 2);
	if (*p->facts.damage)
		text_wrap(o, TEXT_RED, REPORT_UNDER, p->facts.damage, DAMAGE_LINES);
	say_bound(o, p);
	say_reasons(o, p, !parts_follow);
	say_longest(o, p, cwd);
	say_gpus(o, p);
	say_idle(o, p);
	say_phases(o, p);
	say_growth(o, p, cwd);
	report_ranks_say_straggler(o, r);
	if (!parts_follow || !p->advice.n)
		say_advice(o, p, cwd, most_lines);
	if (!parts_follow)
		say_lines(o, p, cwd, most_lines);
	say_trust(o, p);
}

static void say_screen(struct textout *o, const struct report *r, unsigned most_lines,
		       bool parts_follow)
{
	const struct report_process *p = report_main_process(r);
	if (p) {
		say_process(o, r, p, most_lines, parts_follow);
		return;
	}
	text_line(o, TEXT_PLAIN, "no process of this run has steps to report on");
	if (r->processes.n)
		say_reasons(o, r->processes.at[0], !parts_follow);
}

void report_text_screen(struct textout *o, const struct report *r, unsigned most_lines)
{
	say_screen(o, r, most_lines, false);
}

/* ---- All of it ---- */

static void row_of_process(struct text_table *t, const struct report_process *p)
{
	char ms[NUMBER_BYTES];
	const struct step_lengths *lengths = p->baseline.step_ms;
	table_cell(t, "%lld", (long long)p->facts.pid);
	table_cell(t, p->rank >= 0 ? "%lld" : "-", (long long)p->rank);
	table_cell(t, "%s", report_ms(ms, sizeof(ms), report_step_ms(p)));
	table_cell(t, "%s", report_ms(ms, sizeof(ms), lengths ? lengths->p95 : 0));
	table_cell(t, p->gpu.n ? "%.0f %%" : "-", p->gpu.n ? p->gpu.at[0].busy_pct : 0);
	table_cell(t, "%s", report_verdict_or_unclear(p->bound.verdict));
}

static void say_others(struct textout *o, const struct report *r, const struct report_process *p)
{
	static const struct text_column columns[] = {
		{ "process", COLUMN_NUMBER },  { "rank", COLUMN_NUMBER },
		{ "step ms", COLUMN_NUMBER },  { "p95", COLUMN_NUMBER },
		{ "GPU util", COLUMN_NUMBER }, { "bottleneck", COLUMN_TEXT },
	};
	struct text_table t;
	char name[NAME_BYTES];
	if (r->processes.n < 2)
		return;
	if (r->ranks) {
		report_ranks_say(o, r);
		return;
	}
	text_line(o, TEXT_PLAIN, "%s", "");
	text_line(o, TEXT_BOLD, "All %zu processes; details below: %s", r->processes.n,
		  name_of(name, sizeof(name), p));
	table_start(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < r->processes.n; i++)
		row_of_process(&t, r->processes.at[i]);
	table_end(&t, o);
}

void report_text_all(struct textout *o, const struct report *r, unsigned top)
{
	const struct report_process *p = report_main_process(r);
	const struct report_view view = { .out = o, .process = p, .cwd = r->run.cwd, .top = top };
	say_screen(o, r, REPORT_SCREEN_LINES, true);
	if (!p)
		return;
	say_others(o, r, p);
	report_pages(&view);
}
