/* See report_words.h. */
#include "export/report_words.h"

#include "core/util/path.h"

#include <stdio.h>
#include <string.h>

double report_number(const json_t *o, const char *name)
{
	return json_number_value(json_object_get(o, name));
}

bool report_has_number(const json_t *o, const char *name)
{
	return json_is_number(json_object_get(o, name));
}

const char *report_string(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));
	return text ? text : "";
}

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

char *report_place(char *to, size_t bytes, const json_t *o, const char *cwd)
{
	const char *file = report_string(o, "file"), *function = report_string(o, "function");
	if (*file && report_has_number(o, "line"))
		snprintf(to, bytes, "%s:%.0f", report_short_path(file, cwd),
			 report_number(o, "line"));
	else if (*function)
		snprintf(to, bytes, "%s", function);
	else
		snprintf(to, bytes, "%s", *file ? report_short_path(file, cwd) : "(not known)");
	return to;
}

char *report_inner(char *to, size_t bytes, const json_t *o)
{
	const json_t *inner = json_object_get(o, "inner");
	to[0] = 0;
	if (json_is_object(inner))
		snprintf(to, bytes, "in %s:%.0f %s", path_base(report_string(inner, "file")),
			 report_number(inner, "line"), report_string(inner, "function"));
	return to;
}

char *report_ms(char *to, size_t bytes, double ms)
{
	double size = ms < 0 ? -ms : ms;
	snprintf(to, bytes, "%.*f", size < 10 ? 3 : size < 100 ? 2 : size < 10000 ? 1 : 0, ms);
	return to;
}

char *report_ms_of(char *to, size_t bytes, const json_t *o, const char *name)
{
	if (report_has_number(o, name))
		return report_ms(to, bytes, report_number(o, name));
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

char *report_numbers(char *to, size_t bytes, const json_t *list)
{
	size_t n = json_array_size(list), used = 0;
	json_int_t first = json_integer_value(json_array_get(list, 0)),
		   last = json_integer_value(json_array_get(list, n ? n - 1 : 0));
	to[0] = 0;
	if (n > 1 && last - first == (json_int_t)n - 1) {
		snprintf(to, bytes, "%lld-%lld", (long long)first, (long long)last);
		return to;
	}
	for (size_t i = 0; i < n && i < NUMBERS_SAID && used < bytes; i++)
		used += (size_t)snprintf(to + used, bytes - used, "%s%lld", i ? ", " : "",
					 (long long)json_integer_value(json_array_get(list, i)));
	if (n > NUMBERS_SAID && used < bytes)
		snprintf(to + used, bytes - used, " ...");
	return to;
}

enum {
	WIDE_PCT = 20, /* an interval that is wider and holds 0 says nothing but that steps vary */
	LEFT_LEAST_PCT = 1, /* less is not worth a word */
};

char *report_mean_of(char *to, size_t bytes, const json_t *p)
{
	const json_t *bound = json_object_get(p, "bound");
	double n = report_number(bound, "steps");
	to[0] = 0;
	if (report_number(bound, "usual_steps") < n)
		snprintf(to, bytes, ", the mean of all %.0f recorded", n);
	return to;
}

char *report_overhead(char *to, size_t bytes, const json_t *self)
{
	const json_t *ci = json_object_get(self, "overhead_ci");
	double low = json_number_value(json_array_get(ci, 0)),
	       high = json_number_value(json_array_get(ci, 1));
	to[0] = 0;
	if (json_array_size(ci) != 2)
		return to;
	int digits = high - low > WIDE_PCT ? 0 : 1;
	if (high <= 0)
		snprintf(to, bytes, "recording cost nothing that can be seen");
	else if (low <= 0 && high - low > WIDE_PCT)
		snprintf(to, bytes, "steps vary too much to see what recording cost");
	else
		snprintf(to, bytes, "recording cost %+.*f %% (95 %%: %+.*f to %+.*f)", digits,
			 report_number(self, "overhead_pct"), digits, low, digits, high);
	return to;
}

char *report_left(char *to, size_t bytes, const json_t *self)
{
	const json_t *ci = json_object_get(self, "left_ci");
	double low = json_number_value(json_array_get(ci, 0)),
	       high = json_number_value(json_array_get(ci, 1));
	to[0] = 0;
	if (low >= LEFT_LEAST_PCT && high - low <= WIDE_PCT)
		snprintf(to, bytes,
			 "steps behind the first window take %.1f %% longer (95 %%: %+.1f to "
			 "%+.1f)",
			 report_number(self, "left_pct"), low, high);
	return to;
}

/* The launcher knows the signal of the program that it started itself. */
char *report_death(char *to, size_t bytes, const json_t *run, const json_t *p)
{
	const json_t *steps = json_object_get(p, "steps"), *signal = json_object_get(run, "signal");
	bool is_known = json_is_integer(signal) &&
			json_equal(json_object_get(run, "pid"), json_object_get(p, "pid"));
	int number = (int)json_integer_value(signal);
	size_t used;
	to[0] = 0;
	if (strcmp(report_string(p, "state"), "killed") != 0)
		return to;
	if (is_known)
		used = (size_t)snprintf(to, bytes, "ended by signal %d (%s)", number,
					strsignal(number));
	else
		used = (size_t)snprintf(to, bytes, "was killed: its end is not in its journal");
	if (report_has_number(steps, "last") && used < bytes)
		snprintf(to + used, bytes - used, ", after step %.0f began",
			 report_number(steps, "last"));
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

static const struct word causes[] = {
	{ "sync", "waits", "refilled after a wait" },
	{ "launch", "slow launching", "CPU slower than the GPU" },
	{ "input", "input", "next batch not ready" },
	{ "alloc", "memory calls", "allocating, freeing" },
	{ "copy", "copies", "CPU held by a copy" },
	{ "collective", "other ranks", "other ranks awaited" },
	{ "module", "loading of kernels", "kernels being loaded" },
	{ "profiler", "profiling", "profrun or CUPTI" },
	{ "unknown", "unknown", "nothing tells why" },
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
	return LOOK_UP(causes, cause)->noun;
}

const char *report_cause_words(const char *cause)
{
	return LOOK_UP(causes, cause)->meaning;
}

const char *report_kind_words(const char *kind)
{
	return LOOK_UP(kinds, kind)->noun;
}
