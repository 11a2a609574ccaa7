/* See report_words.h. */
#include "export/report_words.h"

#include "core/analysis/idle_causes.h"
#include "core/util/ms_digits.h"
#include "core/util/path.h"
#include "core/util/text.h"
#include "core/whatif/critical.h"

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
		snprintf(to, bytes, "%s", *p->file ? report_short_path(p->file, cwd) : "(unknown)");
	return to;
}

char *report_place_short(char *to, size_t bytes, const struct report_place *p, const char *cwd)
{
	char whole[TEXT_BYTES];
	report_place(whole, sizeof(whole), p, cwd);
	return text_fit(to, bytes, whole, REPORT_PLACE_COLUMNS, CUT_HEAD);
}

/* Writes the file's name and the line, or the function. */
static void write_short(char *to, size_t bytes, const struct report_place *p)
{
	if (*p->file && p->line >= 0)
		snprintf(to, bytes, "%s:%lld", path_base(p->file), (long long)p->line);
	else
		snprintf(to, bytes, "%s", *p->function ? p->function : "(unknown)");
}

char *report_host_place(char *to, size_t bytes, const struct report_host *h, const char *cwd)
{
	char after[256], before[256];
	if (*h->place.file || *h->place.function)
		return report_place(to, bytes, &h->place, cwd);
	if (!h->after || !h->before) {
		snprintf(to, bytes, "-");
		return to;
	}
	write_short(after, sizeof(after), h->after);
	write_short(before, sizeof(before), h->before);
	snprintf(to, bytes, "between %s and %s", after, before);
	return to;
}

char *report_host_native(char *to, size_t bytes, const struct report_host *h)
{
	to[0] = 0;
	if (*h->native_function && !strcmp(h->kind, "native"))
		snprintf(to, bytes, " in %s (%s)", h->native_function, h->native_library);
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

char *report_called_from(char *to, size_t bytes, const struct report_place *from)
{
	to[0] = 0;
	if (from)
		snprintf(to, bytes, "called from %s:%lld", path_base(from->file),
			 (long long)from->line);
	return to;
}

char *report_ms(char *to, size_t bytes, double ms)
{
	snprintf(to, bytes, "%.*f", MS(ms));
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

char *report_count(char *to, size_t bytes, int64_t n)
{
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)n), used = 0;
	for (size_t i = 0; i < length && used + 2 < bytes; i++) {
		if (i && (length - i) % 3 == 0 && digits[i - 1] != '-')
			to[used++] = ',';
		to[used++] = digits[i];
	}
	to[used] = 0;
	return to;
}

enum { RANGES_SAID = 6, RANGE_BYTES = 48 };

/* Writes ", 12-14" or ", 12". */
static void range_text(char to[RANGE_BYTES], const char *comma, int64_t first, int64_t last)
{
	if (first == last)
		snprintf(to, RANGE_BYTES, "%s%lld", comma, (long long)first);
	else
		snprintf(to, RANGE_BYTES, "%s%lld-%lld", comma, (long long)first, (long long)last);
}

/* No number is cut: where the next one does not fit, there are dots. */
char *report_numbers(char *to, size_t bytes, const int64_t *at, size_t n)
{
	static const char dots[] = " ...";
	char range[RANGE_BYTES];
	size_t n_ranges = 0;
	to[0] = 0;
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && at[end] == at[end - 1] + 1; end++)
			;
		range_text(range, i ? ", " : "", at[i], at[end - 1]);
		bool fits = strlen(to) + strlen(range) + sizeof(dots) <= bytes;
		if (n_ranges++ == RANGES_SAID || !fits) {
			snprintf(to + strlen(to), bytes - strlen(to), "%s", dots);
			break;
		}
		snprintf(to + strlen(to), bytes - strlen(to), "%s", range);
	}
	return to;
}

enum {
	WIDE_PCT = 20,	    /* percent; a wider confidence interval around 0 shows only that step
			     * times vary */
	LEFT_LEAST_PCT = 1, /* percent; less is not worth a line */
};

#define CLEAR 0.7 /* with less confidence, something else may be the step */

char *report_detector(char *to, size_t bytes, const struct facts_steps *steps)
{
	bool is_auto = !strcmp(steps->detector, "auto");
	if (!strcmp(steps->detector, "slices"))
		snprintf(to, bytes, "slices of one second");
	else if (is_auto || steps->period >= 0) /* other detectors are certain */
		snprintf(to, bytes, "%s%s (%.0f %%)%s",
			 is_auto ? "auto-detected" : "PROF_STEP=", is_auto ? "" : steps->detector,
			 steps->confidence * 100,
			 is_auto && steps->confidence < CLEAR ? ": step unclear" : "");
	else if (!strcmp(steps->detector, "ProfilerStep"))
		snprintf(to, bytes, "marked by torch.profiler");
	else if (!strcmp(steps->detector, "annotation"))
		snprintf(to, bytes, "each annotation \"%s\"", steps->annotation);
	else
		snprintf(to, bytes, "PROF_STEP=%s", steps->detector);
	return to;
}

bool report_is_unit(const struct report_process *p)
{
	return p->facts.steps.detector && !strcmp(p->facts.steps.detector, "none");
}

char *report_mean_of(char *to, size_t bytes, const struct report_process *p)
{
	long long n_warm = p->baseline.recorded_warm_up_steps;
	to[0] = 0;
	if (p->bound.typical_steps == p->bound.steps)
		return to;
	if (n_warm)
		snprintf(to, bytes, ", mean of %lld recorded steps (%lld warm-up)",
			 (long long)p->bound.steps, n_warm);
	else
		snprintf(to, bytes, ", mean of all %lld recorded steps", (long long)p->bound.steps);
	return to;
}

bool report_overhead_is_measured(const struct facts_overhead *o)
{
	double low = o->ci.low, high = o->ci.high;
	return isfinite(low) && high > 0 && (low > 0 || high - low <= WIDE_PCT);
}

char *report_overhead(char *to, size_t bytes, const struct facts_overhead *o)
{
	double low = o->ci.low, high = o->ci.high;
	to[0] = 0;
	if (!isfinite(low))
		return to;
	int digits = high - low > WIDE_PCT ? 0 : 1;
	if (high <= 0)
		snprintf(to, bytes, "no measurable recording overhead");
	else if (!report_overhead_is_measured(o))
		snprintf(to, bytes, "recording overhead unknown: step time varies too much");
	else
		snprintf(to, bytes, "recording overhead %+.*f %% (95 %% CI: %+.*f to %+.*f)",
			 digits, o->pct, digits, low, digits, high);
	return to;
}

char *report_left(char *to, size_t bytes, const struct facts_overhead *o)
{
	double low = o->left_ci.low, high = o->left_ci.high;
	to[0] = 0;
	if (low >= LEFT_LEAST_PCT && high - low <= WIDE_PCT)
		snprintf(to, bytes,
			 "steps take %.1f %% longer after the first recording (95 %% CI: %+.1f to "
			 "%+.1f)",
			 o->left_pct, low, high);
	return to;
}

/* run->signal is known only for the program that the launcher started itself (run->pid). */
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
		used = (size_t)snprintf(to, bytes, "killed (the journal has no end record)");
	if (p->steps.last >= 0 && used < bytes)
		snprintf(to + used, bytes - used, ", after step %lld began",
			 (long long)p->steps.last);
	return to;
}

/* ---- Words for the names in report.json ---- */

struct word {
	const char *name, *noun, *words;
};

static const struct word verdicts[] = {
	{ "gpu", "GPU-bound", "a faster GPU would save most" },
	{ "launch", "Launch-bound", "kernel launches arrive too slowly" },
	{ "host", "Host-bound", "the GPU waits for CPU code between CUDA calls" },
	{ "input", "Data-loading-bound", "steps wait for their data" },
	{ "sync", "Synchronization-bound", "the GPU idles after each sync" },
	{ "memory", "Allocation-bound", "allocating and freeing stall the step" },
	{ "copy", "Copy-bound", "steps wait for copies between CPU and GPU" },
	{ "collective", "Communication-bound", "steps wait for other ranks" },
};

static const struct word resources[] = {
	{ "gpu", "GPU", "" },
	{ "launch", "launch overhead", "" },
	{ "host", "CPU code between CUDA calls", "" },
	{ "input", "data loading", "" },
	{ "sync", "synchronization", "" },
	{ "memory", "allocation and freeing", "" },
	{ "copy", "copies", "" },
	{ "collective", "communication", "" },
};

static const struct word syncs[] = {
	{ "item", ".item()/D2H sync", "" },    { "explicit", "explicit sync", "" },
	{ "copy", "blocking copy", "" },       { "event", "cudaEventSynchronize", "" },
	{ "alloc", "allocation or free", "" }, { "library", "inside a library", "" },
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

const char *report_critical_noun(const char *kind)
{
	for (int i = 0; i < CRITICAL_KINDS_N; i++)
		if (!strcmp(critical_kinds[i].name, kind))
			return critical_kinds[i].noun;
	return kind;
}

const char *report_verdict_noun(const char *verdict)
{
	return LOOK_UP(verdicts, verdict)->noun;
}

const char *report_verdict_words(const char *verdict)
{
	return LOOK_UP(verdicts, verdict)->words;
}

const char *report_verdict_or_unclear(const char *verdict)
{
	const char *title = report_verdict_noun(verdict);
	return *title ? title : "unclear";
}

char *report_limit(char *to, size_t bytes, const struct report_bound *b)
{
	const char *noun = report_resource_noun(b->verdict);
	snprintf(to, bytes, "%s%s", b->between.n ? "unclear" : noun,
		 !b->between.n && *noun && b->confidence < REPORT_DOUBTFUL ? "?" : "");
	return to;
}

int64_t report_peak_bytes(const struct report_memory *m, bool *is_device)
{
	*is_device = m->device_peak_bytes > 0;
	return *is_device     ? m->device_peak_bytes
	       : m->allocator ? m->allocator->peak_reserved_bytes
			      : 0;
}

const char *report_resource_noun(const char *verdict)
{
	return LOOK_UP(resources, verdict)->noun;
}

/* Rounds down, so that only a complete capture has 100 %. */
char *report_captured(char *to, size_t bytes, const struct facts_completeness *c)
{
	char captured[32], launches[32];
	report_count(captured, sizeof(captured), c->captured);
	report_count(launches, sizeof(launches), c->launches);
	to[0] = 0;
	if (c->windows.at && !c->launches)
		snprintf(to, bytes, "%s",
			 c->windows.n ? "no launches in the recorded steps" : "nothing captured");
	else if (c->windows.at && c->captured == c->launches)
		snprintf(to, bytes, "captured %s of %s launches (100 %%)", captured, launches);
	else if (c->windows.at)
		snprintf(to, bytes, "captured %s of %s launches (%.1f %%)", captured, launches,
			 floor(c->pct * 10) / 10);
	return to;
}

char *report_graph_lines(char *to, size_t bytes, const struct facts_completeness *c)
{
	char captured[32], kernels[32];
	to[0] = 0;
	if (c->graph_kernels > 0)
		snprintf(to, bytes, "graph kernels with a captured line: %s of %s%s%s",
			 report_count(captured, sizeof(captured), c->graph_captured),
			 report_count(kernels, sizeof(kernels), c->graph_kernels),
			 *c->graph_why ? ": " : "", c->graph_why);
	return to;
}

char *report_lacking(char *to, size_t bytes, const struct facts_window *w,
		     const struct facts_steps *steps)
{
	char captured[32], launches[32], numbers[80];
	report_numbers(numbers, sizeof(numbers), w->steps.at, w->steps.n);
	/* without recorded steps, the window is the whole run */
	snprintf(to, bytes, "%s%s: %s of %s launches have GPU times: %s",
		 !steps->recorded.n ? "whole run"
		 : w->steps.n > 1   ? "steps "
				    : "step ",
		 steps->recorded.n ? numbers : "",
		 report_count(captured, sizeof(captured), w->captured),
		 report_count(launches, sizeof(launches), w->launches), w->why);
	return to;
}

static const struct report_saving *saving_of(const struct report_bound *b, const char *resource)
{
	for (size_t i = 0; i < b->savings.n; i++)
		if (!strcmp(b->savings.at[i].resource, resource))
			return &b->savings.at[i];
	return NULL;
}

char *report_between(char *to, size_t bytes, const struct report_bound *b)
{
	size_t used = 0, n_said = 0;
	to[0] = 0;
	for (size_t i = 0; i < b->between.n && used < bytes; i++)
		used += (size_t)snprintf(to + used, bytes - used, "%s%s",
					 !i			? ""
					 : i + 1 < b->between.n ? ", "
								: " or ",
					 report_resource_noun(b->between.at[i]));
	for (size_t i = 0; i < b->between.n && used < bytes; i++) {
		const struct report_saving *s = saving_of(b, b->between.at[i]);
		if (!s)
			continue;
		used += (size_t)snprintf(to + used, bytes - used, "%s%s %s%.*f to %.*f%s",
					 n_said ? ", " : " (", report_resource_noun(s->resource),
					 n_said ? "" : "saves ", MS(s->interval_ms.low),
					 MS(s->interval_ms.high), n_said ? "" : " ms");
		n_said++;
	}
	if (n_said && used < bytes)
		snprintf(to + used, bytes - used, ")");
	return to;
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

const char *report_sync_noun(const char *kind)
{
	return LOOK_UP(syncs, kind)->noun;
}
