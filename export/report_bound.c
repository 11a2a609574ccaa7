/* See report_bound.h. */
#include "export/report_bound.h"

#include "core/util/text.h"
#include "export/report_steps.h"
#include "export/report_words.h"

#include <string.h>

enum {
	BETWEEN_BYTES = 400,
	SLOW_BYTES = 120,
	PLACE_BYTES = 600,
	SLOW_PCT = 50, /* share of the time from which the verdict names the slow steps */
	LOAD_PCT = 50, /* the same of other load on the machine */
};

const char report_bound_quiet[] = "to settle it, run again while nothing else loads the machine";

/* Returns whether samples show the line. Without a sampled line, idle time has the line of the next
 * CUDA call. */
static bool is_sampled(const struct report_process *p, const struct report_place *place)
{
	for (size_t i = 0; i < p->host.n; i++)
		if (p->host.at[i].place.line == place->line &&
		    !strcmp(p->host.at[i].place.file, place->file))
			return true;
	return false;
}

/*
 * What the CPU does between its calls instead of working, by the idle cause in report.json. Fills
 * `text` with the cause that takes more than half of this time, and its line: "mostly sleeping at
 * train.py:12". Returns `words`, which say no cause, if there is none.
 */
static const char *what_host_does(const struct report_process *p, const char *cwd,
				  const char *words, char *text, size_t bytes)
{
	static const struct {
		const char *cause, *words;
	} does[] = {
		{ "host", "" },
		{ "gc", "garbage collection" },
		{ "lock", "waiting for a lock or another thread" },
		{ "gil", "waiting for Python's GIL" },
		{ "sleep", "sleeping" },
		{ "io", "waiting for a file, a pipe or a socket" },
		{ "child", "waiting for a child process" },
		{ "event_loop", "an idle event loop, until the await" },
	};
	char place[PLACE_BYTES], holder[PLACE_BYTES];
	const struct report_idle *most = NULL;
	double all_ms = 0;
	size_t of_most = 0;
	for (size_t i = 0; i < p->idle.n; i++)
		for (size_t k = 0; k < sizeof(does) / sizeof(*does); k++) {
			const struct report_idle *x = &p->idle.at[i];
			if (strcmp(x->cause, does[k].cause) != 0)
				continue;
			all_ms += x->ms;
			of_most = !most || x->ms > most->ms ? k : of_most;
			most = !most || x->ms > most->ms ? x : most;
		}
	if (!most || most->ms * 2 < all_ms || !*most->where)
		return words;
	report_place_short(place, sizeof(place), &most->place, cwd);
	snprintf(text, bytes, "mostly %s%s%s %s", does[of_most].words,
		 *does[of_most].words ? " " : "",
		 is_sampled(p, &most->place) || !strcmp(most->cause, "event_loop") ? "at"
										   : "before",
		 place);
	if (!strcmp(most->cause, "gil") && p->bound.gil_holder)
		text_append(text, bytes, "; %s has it",
			    report_place_short(holder, sizeof(holder), p->bound.gil_holder, cwd));
	return text;
}

/* The verdict is of all steps: writes the share of the slow ones, and what limits the others. */
static const char *of_slow(const struct report_process *p, char *text, size_t bytes)
{
	const struct report_slow_steps *slow = p->baseline.slow_steps;
	double pct = slow ? slow->time_pct : p->bound.left_out_pct;
	size_t used = (size_t)snprintf(text, bytes, "; slow steps take %.0f %% of the time", pct);
	if (strcmp(p->bound.typical_verdict, p->bound.verdict) != 0)
		snprintf(text + used, bytes - used, ", the others are limited by: %s",
			 report_resource_noun(p->bound.typical_verdict));
	return text;
}

/*
 * The verdict is of typical steps. Writes so if the steps that it does not cover take most of the
 * time, or "". If slow steps were recorded, the verdict may cover them: long steps that recur
 * regularly are typical, and so are those that are long only because of other load.
 */
static const char *without_slow(const struct report_process *p, char *text, size_t bytes)
{
	const struct report_slow_steps *slow = p->baseline.slow_steps;
	bool is_unrecorded = slow && !slow->n_recorded && slow->time_pct >= SLOW_PCT;
	if (p->bound.is_of_all)
		return of_slow(p, text, bytes);
	if (!(is_unrecorded || p->bound.left_out_pct >= SLOW_PCT) || report_runs_ahead(p) ||
	    report_catches_up(p))
		return "";
	snprintf(text, bytes, "; without the slow steps, which take %.0f %% of the time",
		 slow ? slow->time_pct : p->bound.left_out_pct);
	return text;
}

/* Writes for how much of the time other load had the CPUs, if that is so much that it lowers the
 * confidence (core/verdict/judge.c), or "". */
static const char *despite_load(const struct report_process *p, char *text, size_t bytes)
{
	double pct = p->replay ? 100 * p->replay->contention_ms / p->replay->measured_ms : 0;
	*text = '\0';
	if (!(pct > LOAD_PCT))
		return text;
	snprintf(text, bytes, "; other load had the CPUs for %.0f %% of the time", pct);
	return text;
}

/* Returns whether removing waits would save more than the time in which the GPU is idle: without
 * the waits, copies and kernels would run at the same time. */
static bool keeps_apart(const struct report_process *p)
{
	double idle_ms = 0, saved_ms = 0;
	for (size_t i = 0; i < p->idle.n; i++)
		if (strcmp(p->idle.at[i].cause, "contention") != 0)
			idle_ms += p->idle.at[i].ms;
	for (size_t i = 0; i < p->bound.savings.n; i++)
		if (!strcmp(p->bound.savings.at[i].resource, "sync"))
			saved_ms = p->bound.savings.at[i].ms;
	return saved_ms > idle_ms && p->gpu.n == 1;
}

static bool is_doubtful(const struct report_bound *b)
{
	return !b->between.n && *report_verdict_noun(b->verdict) && b->confidence < REPORT_DOUBTFUL;
}

bool report_bound_needs_quiet(const struct report_process *p)
{
	char load[SLOW_BYTES];
	return is_doubtful(&p->bound) && *despite_load(p, load, sizeof(load));
}

void report_bound_words(struct bound_words *to, const struct report_process *p, const char *cwd)
{
	const struct report_bound *b = &p->bound;
	char between[BETWEEN_BYTES], does[TEXT_BYTES], slow[SLOW_BYTES], load[SLOW_BYTES];
	const char *words = report_verdict_words(b->verdict);
	to->limit[0] = to->confidence[0] = to->meaning[0] = 0;
	if (b->between.n) {
		snprintf(to->limit, sizeof(to->limit), "unclear: %s",
			 report_between(between, sizeof(between), b));
		return;
	}
	if (!*report_verdict_noun(b->verdict))
		return;
	if (!strcmp(b->verdict, "host"))
		words = what_host_does(p, cwd, words, does, sizeof(does));
	if (!strcmp(b->verdict, "sync") && keeps_apart(p))
		words = "after each sync, work starts that could overlap earlier work";
	if (!strcmp(b->input_source, "queue"))
		words = "an empty queue; a server waits for requests here";
	snprintf(to->limit, sizeof(to->limit), "%s%s", is_doubtful(b) ? "unclear: probably " : "",
		 report_resource_noun(b->verdict));
	snprintf(to->confidence, sizeof(to->confidence), "confidence %.0f %%%s%s",
		 b->confidence * 100, without_slow(p, slow, sizeof(slow)),
		 despite_load(p, load, sizeof(load)));
	snprintf(to->meaning, sizeof(to->meaning), "%s", report_is_unit(p) ? "" : words);
}

char *report_bound_line(char *to, size_t bytes, const struct report_process *p, const char *cwd)
{
	struct bound_words words;
	report_bound_words(&words, p, cwd);
	snprintf(to, bytes, "%s", words.limit);
	if (*words.confidence)
		text_append(to, bytes, " (%s)%s%s", words.confidence, *words.meaning ? ": " : "",
			    words.meaning);
	return to;
}
