/* See report_text.h. Prints the first screen, and what follows it in the right order. */
#include "export/report_text.h"

#include "export/print.h"
#include "export/report_bound.h"
#include "export/report_exit.h"
#include "export/report_figures.h"
#include "export/report_gains.h"
#include "export/report_head.h"
#include "export/report_pages.h"
#include "export/report_ranks.h"
#include "export/report_steps.h"
#include "export/report_words.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum {
	EVIDENCE_SAID = 3,
	REASONS_SAID = 3,
	VERDICT_LINES = 3,
	START_UP_PCT = 50,
	ADVICE_SAID = 3,
	LINES_SAID = 3,
	TRUST_LINES = 3,
	WINDOWS_SAID = 2,
	DAMAGE_LINES = 5,
	GAPS_SAID = 3,
	NUMBER_BYTES = 32,
	MEAN_BYTES = 64,
	STALL_PLACE = 26, /* columns; so that the line mostly fits */
	HOST_LINES_SAID = 2,
	PLACE_BYTES = 600,
	NAME_BYTES = 40,
};

static bool has_figures(const struct report_process *p)
{
	return report_step_ms(p) > 0 || p->gpu.n;
}

const struct report_process *report_main_process(const struct report *r)
{
	const struct report_process *slowest = report_ranks_straggler(r);
	if (slowest) /* the steps of all ranks are as long as the straggler's */
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

static void say_why_unknown(struct textout *o, const struct report_process *p)
{
	const char *why = NULL;
	for (size_t i = 0; !why && i < p->unavailable.n; i++)
		if (!strcmp(p->unavailable.at[i].what, "bottleneck"))
			why = p->unavailable.at[i].why;
	text_line(o, TEXT_BOLD, "Bottleneck unclear");
	if (why && p->gpu.n) /* otherwise say_reasons() prints all reasons */
		text_say(o, REPORT_UNDER "- ", "%s", why);
}

static void say_stall(struct textout *o, const struct report_process *p, const char *cwd)
{
	const struct report_stall *s = p->bound.stall;
	char ms[NUMBER_BYTES], percent[NUMBER_BYTES] = "", place[PLACE_BYTES], fitted[TEXT_BYTES];
	if (!s)
		return;
	if (p->replay && p->replay->step_ms > 0)
		snprintf(percent, sizeof(percent), " (%.0f %%)", s->ms / p->replay->step_ms * 100);
	report_place(place, sizeof(place), &s->place, cwd);
	text_say(o, "", "Largest fixable stall: %s at %s, %s ms%s", report_resource_noun(s->cause),
		 text_fit(fitted, sizeof(fitted), place, STALL_PLACE, CUT_HEAD),
		 report_ms(ms, sizeof(ms), s->ms), percent);
}

static bool is_bound_by(const struct report_bound *b, const char *resource)
{
	bool is = !strcmp(b->verdict, resource);
	for (size_t i = 0; i < b->between.n && !is; i++)
		is = !strcmp(b->between.at[i], resource);
	return is;
}

/* Returns whether the row's CPU time belongs to what limits the steps. Of a framework's code on its
 * way to a launch, the line of the framework says nothing to the user, nor does the line that
 * started an event loop. */
static bool is_of_limit(const struct report_bound *b, const struct report_host *h)
{
	if (!strcmp(h->kind, "framework") || !strcmp(h->kind, "event_loop"))
		return false;
	return is_bound_by(b, strcmp(h->kind, "loader") ? "host" : "input");
}

/* Returns the row of what limits the steps with the most time after row `last`, or NULL.
 * `last`: NULL for the first one. Rows of equal time keep their order. */
static const struct report_host *next_host_line(const struct report_process *p,
						const struct report_host *last)
{
	const struct report_host *most = NULL;
	for (size_t i = 0; i < p->host.n; i++) {
		const struct report_host *h = &p->host.at[i];
		bool is_after = !last || h->user_ms < last->user_ms ||
				(h->user_ms == last->user_ms && h > last);
		if (is_after && h->user_ms > 0 && is_of_limit(&p->bound, h) &&
		    (!most || h->user_ms > most->user_ms))
			most = h;
	}
	return most;
}

/* If CPU code or data loading limits the steps, prints the lines of the program at which samples
 * show it. */
static void say_host_lines(struct textout *o, const struct report_process *p, const char *cwd)
{
	char ms[NUMBER_BYTES], samples[NUMBER_BYTES], place[PLACE_BYTES], fitted[TEXT_BYTES];
	char native[TEXT_BYTES];
	const struct report_host *h = NULL;
	for (int said = 0; o->terse < REPORT_TERSE && said < HOST_LINES_SAID; said++) {
		h = next_host_line(p, h);
		if (!h)
			return;
		report_host_place(place, sizeof(place), h, cwd);
		text_say(o, REPORT_UNDER, "%s ms  %s  %s%s, %s sample%s",
			 report_ms(ms, sizeof(ms), h->user_ms),
			 text_fit(fitted, sizeof(fitted), place, STALL_PLACE, CUT_HEAD), h->kind,
			 report_host_native(native, sizeof(native), h),
			 report_count(samples, sizeof(samples), h->samples),
			 h->samples == 1 ? "" : "s");
	}
}

/* Prints that a run without steps spends most of its time before its first CUDA call. Returns
 * whether it does. */
static bool say_start_up(struct textout *o, const struct report_process *p)
{
	double pct = report_start_up_pct(p);
	if (!(pct > START_UP_PCT))
		return false;
	text_line(o, TEXT_BOLD,
		  "Limited by: start-up: %.0f %% of the time passes before the first CUDA call",
		  pct);
	return true;
}

static void say_bound(struct textout *o, const struct report_process *p, const char *cwd)
{
	const struct report_bound *b = &p->bound;
	/* The first line after an unclear verdict says what would settle it. The title has the
	 * savings already. */
	size_t said = EVIDENCE_SAID > o->terse ? EVIDENCE_SAID - o->terse : 0,
	       most = b->between.n ? 1 : said;
	char text[2 * TEXT_BYTES];
	const char *head = say_start_up(o, p) ? "After it: " : "Limited by: ";
	if (*report_bound_line(text, sizeof(text), p, cwd))
		text_wrap(o, TEXT_BOLD, head, text, VERDICT_LINES);
	else
		say_why_unknown(o, p);
	if (report_bound_needs_quiet(p) && most) {
		text_say(o, REPORT_UNDER "- ", "%s", report_bound_quiet);
		most--;
	}
	for (size_t i = 0; i < b->evidence.n && i < most; i++)
		text_say(o, REPORT_UNDER "- ", "%s", b->evidence.at[i]);
	say_host_lines(o, p, cwd);
	say_stall(o, p, cwd);
}

/* ---- Savings and lines ---- */

/* Prints two lines: how much the advice saves and where; what to do. */
static void say_one_advice(struct textout *o, const struct report_process *p,
			   const struct report_advice *a, const char *cwd)
{
	char place[PLACE_BYTES], gain[2 * NUMBER_BYTES], inner[PLACE_BYTES];
	report_gain(gain, sizeof(gain), p, a);
	report_place_short(place, sizeof(place), &a->place, cwd);
	if (!*report_inner(inner, sizeof(inner), a->inner) && *a->where)
		snprintf(inner, sizeof(inner), "%s", a->source);
	text_line(o, TEXT_GREEN, "%s%s  %s", gain, *a->where ? place : a->what, inner);
	if (*a->where)
		text_line(o, TEXT_PLAIN, "%*s%s", (int)text_width(gain), "", a->what);
}

/* Returns the first advice that addresses the verdict, or NULL if it is among the first `n`. */
static const struct report_advice *verdicts_advice(const struct report_process *p, size_t n)
{
	for (size_t i = 0; i < p->advice.n; i++) {
		const struct report_advice *a = &p->advice.at[i];
		if (!strcmp(a->cause, p->bound.verdict))
			return i < n ? NULL : a;
	}
	return NULL;
}

/* Returns whether an earlier piece of advice is about the same line, and this one saves less on top
 * of the earlier ones than its savings are uncertain. */
static bool adds_nothing(const struct report_process *p, size_t i)
{
	const struct report_advice *a = &p->advice.at[i];
	double added_ms = i ? a->together_ms - a[-1].together_ms : NAN,
	       half_ms = (a->interval_ms.high - a->interval_ms.low) / 2;
	if (!*a->place.file || !(added_ms < half_ms))
		return false;
	for (size_t k = 0; k < i; k++) {
		const struct report_place *other = &p->advice.at[k].place;
		if (other->line == a->place.line && !strcmp(other->file, a->place.file))
			return true;
	}
	return false;
}

/*
 * Prints the first `most` pieces of advice and the one that addresses the verdict. `is_rare`: only
 * advice that saves time in few steps; otherwise only advice that saves time in typical steps.
 * Returns how many were printed.
 */
static size_t say_rows(struct textout *o, const struct report_process *p, const char *cwd,
		       size_t most, bool is_rare)
{
	const struct report_advice *verdicts = verdicts_advice(p, most);
	bool has_heading = !is_rare;
	size_t n_said = 0;
	for (size_t i = 0; i < p->advice.n; i++) {
		const struct report_advice *a = &p->advice.at[i];
		if ((i >= most && a != verdicts) || report_gain_is_rare(a) != is_rare)
			continue;
		if (!is_rare && a != verdicts_advice(p, 0) && adds_nothing(p, i))
			continue;
		n_said++;
		if (!has_heading)
			report_gains_rare_heading(o, p);
		has_heading = true;
		say_one_advice(o, p, a, cwd);
	}
	return n_said;
}

static void say_advice(struct textout *o, const struct report_process *p, const char *cwd,
		       unsigned most_lines)
{
	unsigned most = most_lines < REPORT_SCREEN_LINES ? ADVICE_SAID - 1 : ADVICE_SAID;
	if (o->terse >= REPORT_TERSE)
		most = 1;
	if (!p->advice.n) {
		if (*report_verdict_noun(p->bound.verdict))
			text_say(o, "", "%s", report_gains_none(p));
		return;
	}
	report_gains_heading(o, p);
	if (say_rows(o, p, cwd, most, false) > 1)
		report_gains_sum(o, p, most);
	say_rows(o, p, cwd, most, true);
}

/* Prints the table of lines, as far as it fits above the last lines of the screen. */
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
		  p->facts.steps.recorded.n && !report_is_unit(p) ? "per step"
		  : isnan(p->facts.steps.opening_s)		  ? "in the whole run"
								  : "in the opening",
		  report_mean_of(mean, sizeof(mean), p));
	table_end(&t, o);
}

/* Writes "; not available: phases, GPU times", or "" if nothing is missing. */
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

/* Prints the windows in which launches have no GPU times, with the reason. */
static void say_lacking(struct textout *o, const struct report_process *p)
{
	const struct facts_completeness *c = &p->facts.completeness;
	size_t n_said = 0, n_lacking = 0;
	char text[TEXT_BYTES];
	for (size_t i = 0; i < c->windows.n; i++) {
		const struct facts_window *w = &c->windows.at[i];
		if (!*w->why || n_lacking++ >= WINDOWS_SAID)
			continue;
		text_wrap(o, TEXT_RED, REPORT_UNDER,
			  report_lacking(text, sizeof(text), w, &p->facts.steps), 3);
		n_said++;
	}
	if (n_lacking > n_said)
		text_line(o, TEXT_RED, REPORT_UNDER "and in %zu more window%s", n_lacking - n_said,
			  n_lacking - n_said > 1 ? "s" : "");
}

/* Prints how many launches have GPU times, and how reliable the figures are. */
static void say_trust(struct textout *o, const struct report_process *p)
{
	char line[TEXT_BYTES], cost[120], count[NUMBER_BYTES];
	size_t used = strlen(report_captured(line, sizeof(line), &p->facts.completeness));
	report_overhead(cost, sizeof(cost), &p->self.overhead);
	if (used)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "; ");
	if (*cost)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s; ", cost);
	if (p->self.dropped > 0)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s records dropped",
					 report_count(count, sizeof(count), p->self.dropped));
	else
		used += (size_t)snprintf(line + used, sizeof(line) - used, "nothing dropped");
	if (p->replay)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "; model error %.1f %%",
					 fabs(p->replay->error_pct));
	name_gaps(line + used, sizeof(line) - used, p);
	line[0] = (char)toupper((unsigned char)line[0]);
	text_wrap(o, p->self.dropped > 0 ? TEXT_RED : TEXT_DIM, "", line, TRUST_LINES);
	say_lacking(o, p);
	report_graph_lines(line, sizeof(line), &p->facts.completeness);
	line[0] = (char)toupper((unsigned char)line[0]);
	if (*line)
		text_wrap(o, *p->facts.completeness.graph_why ? TEXT_RED : TEXT_DIM, "", line, 2);
}

/* Prints the reasons why figures are missing, if there are no GPU times. `steps_are_said`: the
 * reason for missing steps has been printed already. */
static void say_reasons(struct textout *o, const struct report_process *p, bool steps_are_said)
{
	unsigned n_said = 0;
	if (p->gpu.n)
		return;
	for (size_t i = 0; i < p->unavailable.n && n_said < REASONS_SAID; i++) {
		const struct report_gap *gap = &p->unavailable.at[i];
		if (steps_are_said && !strcmp(gap->what, "steps"))
			continue;
		text_wrap(o, TEXT_PLAIN, "         - ", gap->why, 3);
		n_said++;
	}
}

/* Prints the line with the most CPU time in CUDA calls, if there are no GPU times: without them no
 * synchronization can be recognized, but a long CUDA call can. */
static void say_longest(struct textout *o, const struct report_process *p, const char *cwd)
{
	char place[PLACE_BYTES], ms[NUMBER_BYTES];
	if (p->gpu.n || !p->facts.steps.recorded.n || !p->lines.n)
		return;
	const struct report_line *longest = &p->lines.at[0];
	for (size_t i = 1; i < p->lines.n; i++)
		if (p->lines.at[i].host_ms > longest->host_ms)
			longest = &p->lines.at[i];
	text_say(o, REPORT_UNDER "- ",
		 "line with the most CPU time in CUDA calls: %s, %s ms per step",
		 report_place_short(place, sizeof(place), &longest->place, cwd),
		 report_ms(ms, sizeof(ms), longest->host_ms));
}

/* `parts_follow`: the pages follow, so what they show in full is left out here. */
static void say_process(struct textout *o, const struct report *r, const struct report_process *p,
			unsigned most_lines, bool parts_follow)
{
	const char *cwd = r->run.cwd;
	report_head_say(o, r, p);
	report_exit_say(o, r, p);
	report_steps_say(o, p, cwd);
	if (*p->facts.damage)
		text_wrap(o, TEXT_RED, REPORT_UNDER, p->facts.damage, DAMAGE_LINES);
	say_bound(o, p, cwd);
	say_reasons(o, p, !parts_follow);
	say_longest(o, p, cwd);
	report_figures_say(o, p, cwd);
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
	const struct report_process *first = r->processes.n ? r->processes.at[0] : NULL;
	report_head_say(o, r,
			first && !strcmp(first->facts.cupti.state, CUPTI_EMPTY) ? first : NULL);
	if (first)
		report_exit_say(o, r, first);
	text_line(o, TEXT_PLAIN, "no process of this run has steps to report on");
	if (first)
		say_reasons(o, first, !parts_follow);
}

/* Leaves out more until the screen fits. */
void report_text_screen(struct textout *o, const struct report *r, unsigned most_lines)
{
	for (unsigned terse = 0; terse <= REPORT_TERSEST; terse++) {
		char *text = NULL;
		size_t bytes;
		struct textout draft = *o;
		draft.n_lines = 0;
		draft.terse = terse;
		draft.to = open_memstream(&text, &bytes);
		if (!draft.to)
			return;
		say_screen(&draft, r, most_lines, false);
		fclose(draft.to);
		bool fits = draft.n_lines <= most_lines || terse == REPORT_TERSEST;
		if (fits) {
			print_lines(o->to, text);
			o->n_lines += draft.n_lines;
		}
		free(text);
		if (fits)
			return;
	}
}

/* ---- The full report ---- */

static void row_of_process(struct text_table *t, const struct report_process *p)
{
	char ms[NUMBER_BYTES];
	const struct sample_summary *lengths = p->baseline.step_ms;
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
	text_line(o, TEXT_BOLD, "All %zu processes; the details below are for %s", r->processes.n,
		  report_name_of(name, sizeof(name), p));
	table_start(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < r->processes.n; i++)
		row_of_process(&t, r->processes.at[i]);
	table_end(&t, o);
}

bool report_text_all(struct textout *o, const struct report *r, unsigned top, const char *sort)
{
	const struct report_process *p = report_main_process(r);
	bool has_sorted = false;
	const struct report_view view = { .out = o,
					  .process = p,
					  .cwd = r->run.cwd,
					  .top = top,
					  .sort = sort,
					  .has_sorted = &has_sorted };
	say_screen(o, r, REPORT_SCREEN_LINES, true);
	if (p) {
		say_others(o, r, p);
		report_ranks_say_use(o, r);
		report_pages(&view);
	}
	return has_sorted || !sort;
}
