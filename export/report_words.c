/* See report_words.h. */
#include "export/report_words.h"

#include "core/analysis/idle_causes.h"
#include "core/util/path.h"

#include <stdio.h>
#include <string.h>

const char *report_short_path(const char *file, const char *cwd)
{
	static const char *const roots[] = { "/site-packages/", "/dist-packages/" };
	size_t n = cwd ? strlen(cwd) : 0;
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
		const char *at = strstr(file, roots[i]);
		if (at)
			return at + strlen(roots[i]);
	}
	if (n > 1 && !strncmp(file, cwd, n) && file[n] == '/')
		return file + n + 1;
	return file[0] == '.' && file[1] == '/' ? file + 2 : file;
}

char *report_place(char *to, size_t bytes, const struct report_place *p, const char *cwd)
{
	if (*p->file && p->line >= 0)
		snprintf(to, bytes, "%s:%lld", report_short_path(p->file, cwd), (long long)p->line);
	else if (*p->function)
		snprintf(to, bytes, "%s", p->function);
	else
		snprintf(to, bytes, "%s",
			 *p->file ? report_short_path(p->file, cwd) : "(not known)");
	return to;
}

char *report_inner(char *to, size_t bytes, const struct report_place *inner)
{
	to[0] = 0;
	if (inner)
		snprintf(to, bytes, "in %s:%lld %s", path_base(inner->file), (long long)inner->line,
			 inner->function);
	return to;
}

char *report_ms(char *to, size_t bytes, double ms)
{
	double size = ms < 0 ? -ms : ms;
	snprintf(to, bytes, "%.*f", size < 10 ? 3 : size < 100 ? 2 : size < 10000 ? 1 : 0, ms);
	return to;
}

char *report_ms_or_dash(char *to, size_t bytes, double ms)
{
	if (isfinite(ms))
		return report_ms(to, bytes, ms);
	snprintf(to, bytes, "-");
	return to;
}

char *report_bytes(char *to, size_t bytes, double value)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned unit = 0;
	while ((value >= 1024 || value <= -1024) && unit + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1024;
		unit++;
	}
	snprintf(to, bytes, "%.*f %s", unit ? 1 : 0, value, units[unit]);
	return to;
}

enum { NUMBERS_SAID = 6 };

char *report_numbers(char *to, size_t bytes, const int64_t *at, size_t n)
{
	size_t used = 0;
	to[0] = 0;
	if (n > 1 && at[n - 1] - at[0] == (int64_t)n - 1) {
		snprintf(to, bytes, "%lld-%lld", (long long)at[0], (long long)at[n - 1]);
		return to;
	}
	for (size_t i = 0; i < n && i < NUMBERS_SAID && used < bytes; i++)
		used += (size_t)snprintf(to + used, bytes - used, "%s%lld", i ? ", " : "",
					 (long long)at[i]);
	if (n > NUMBERS_SAID && used < bytes)
		snprintf(to + used, bytes - used, " ...");
	return to;
}

enum {
	WIDE_PCT = 20, /* an interval that is wider and holds 0 says nothing but that steps vary */
	LEFT_LEAST_PCT = 1, /* less is not worth a word */
};

char *report_mean_of(char *to, size_t bytes, const struct report_process *p)
{
	to[0] = 0;
	if (p->bound.usual_steps < p->bound.steps)
		snprintf(to, bytes, ", the mean of all %lld recorded", (long long)p->bound.steps);
	return to;
}

char *report_overhead(char *to, size_t bytes, const struct facts_overhead *o)
{
	double low = o->ci.low, high = o->ci.high;
	to[0] = 0;
	if (!isfinite(low))
		return to;
	int digits = high - low > WIDE_PCT ? 0 : 1;
	if (high <= 0)
		snprintf(to, bytes, "recording cost nothing that can be seen");
	else if (low <= 0 && high - low > WIDE_PCT)
		snprintf(to, bytes, "steps vary too much to see what recording cost");
	else
		snprintf(to, bytes, "recording cost %+.*f %% (95 %%: %+.*f to %+.*f)", digits,
			 o->pct, digits, low, digits, high);
	return to;
}

char *report_left(char *to, size_t bytes, const struct facts_overhead *o)
{
	double low = o->left_ci.low, high = o->left_ci.high;
	to[0] = 0;
	if (low >= LEFT_LEAST_PCT && high - low <= WIDE_PCT)
		snprintf(to, bytes,
			 "steps behind the first window take %.1f %% longer (95 %%: %+.1f to "
			 "%+.1f)",
			 o->left_pct, low, high);
	return to;
}

/* The launcher has the signal of the program that it started itself. */
char *report_death(char *to, size_t bytes, const struct report_run *run,
		   const struct process_facts *p)
{
	bool is_known = run && run->signal >= 0 && run->pid == p->pid;
	size_t used;
	to[0] = 0;
	if (strcmp(p->state, "killed") != 0)
		return to;
	if (is_known)
		used = (size_t)snprintf(to, bytes, "ended by signal %d (%s)", (int)run->signal,
					strsignal((int)run->signal));
	else
		used = (size_t)snprintf(to, bytes, "was killed: its end is not in its journal");
	if (p->steps.last >= 0 && used < bytes)
		snprintf(to + used, bytes - used, ", after step %lld began",
			 (long long)p->steps.last);
	return to;
}

/* ---- Words for the report's names ---- */

struct word {
	const char *name, *noun, *meaning;
};

static const struct word verdicts[] = {
	{ "gpu", "the GPU", "it has work all the time" },
	{ "cpu", "the CPU", "it hands work out too slowly" },
	{ "input", "the input", "steps wait for their data" },
	{ "sync", "waits", "the CPU stops for the GPU, which runs dry" },
	{ "memory", "memory calls", "allocating and freeing stop it" },
	{ "copy", "copies", "between host and device" },
	{ "collective", "the other ranks", "collectives wait for them" },
	{ "mixed", "several things", "of about the same weight" },
};

static const struct word kinds[] = {
	{ "item", "reads a value", "" },    { "explicit", "synchronizes", "" },
	{ "copy", "copy that blocks", "" }, { "event", "awaits an event", "" },
	{ "alloc", "memory call", "" },	    { "library", "inside a library", "" },
};

static const struct word *look_up(const struct word *words, size_t n, const char *name)
{
	static const struct word none = { "", "", "" };
	for (size_t i = 0; i < n; i++)
		if (!strcmp(words[i].name, name))
			return &words[i];
	return &none;
}

#define LOOK_UP(words, name) look_up(words, sizeof(words) / sizeof(*(words)), name)

const char *report_verdict_noun(const char *verdict)
{
	return LOOK_UP(verdicts, verdict)->noun;
}

const char *report_verdict_words(const char *verdict)
{
	return LOOK_UP(verdicts, verdict)->meaning;
}

const char *report_cause_noun(const char *cause)
{
	const struct idle_cause_row *row = idle_cause_find(cause);
	return row ? row->noun : "";
}

const char *report_cause_words(const char *cause)
{
	const struct idle_cause_row *row = idle_cause_find(cause);
	return row ? row->meaning : "";
}

const char *report_kind_words(const char *kind)
{
	return LOOK_UP(kinds, kind)->noun;
}
