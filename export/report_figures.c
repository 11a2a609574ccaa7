/* See report_figures.h. */
#include "export/report_figures.h"

#include "export/report_steps.h"
#include "export/report_words.h"

#include <math.h>
#include <string.h>

enum {
	GPUS_SAID = 2,
	CAUSES_SAID = 3,
	LEAKS_SAID = 2,
	NUMBER_BYTES = 32,
	PLACE_BYTES = 600,
};

/* Memory growth is printed if it fills the device within a week. If that time is not known, growth
 * is printed from this many bytes per step on. */
#define GROWTH_LEFT_MOST_S (7 * 24 * 3600.0)
#define GROWTH_LEAST	   (1 << 16)
/* The time until the device is full is printed up to this many lengths of the run. What grows in a
 * short run need not go on growing: buffers have an end, and so have epochs. */
#define GROWTH_AHEAD_MOST 100

/* ---- Times ---- */

static void say_gpu(struct textout *o, const struct report_gpu *g, bool is_unit)
{
	char label[NUMBER_BYTES], busy[NUMBER_BYTES], idle[NUMBER_BYTES];
	bool is_apart = isfinite(g->typical_busy_ms);
	double busy_ms = is_apart ? g->typical_busy_ms : g->busy_ms,
	       idle_ms = is_apart ? g->typical_idle_ms : g->idle_ms,
	       kernels = is_apart ? g->typical_kernels : g->kernels, pct = g->busy_pct;
	if (is_apart && busy_ms + idle_ms > 0)
		pct = 100 * busy_ms / (busy_ms + idle_ms);
	snprintf(label, sizeof(label), "GPU %-4lld ", (long long)g->device);
	text_say(o, label, "utilization %.0f %% (%s ms%s), idle %s ms, %.0f kernel%s", pct,
		 report_ms(busy, sizeof(busy), busy_ms),
		 is_unit    ? ""
		 : is_apart ? " per typical step"
			    : " per step",
		 report_ms(idle, sizeof(idle), idle_ms), kernels,
		 kernels >= 0.5 && kernels < 1.5 ? "" : "s");
	if (g->late_ms > REPORT_MOSTLY_LATE * busy_ms)
		text_say(o, REPORT_UNDER,
			 "%s ms per step of the GPU work launched in the recorded steps ran only "
			 "after they had ended",
			 report_ms(busy, sizeof(busy), g->late_ms));
}

static void say_gpus(struct textout *o, const struct report_process *p)
{
	for (size_t i = 0; i < p->gpu.n && i < GPUS_SAID; i++)
		say_gpu(o, &p->gpu.at[i], report_is_unit(p));
	if (p->gpu.n > GPUS_SAID)
		text_line(o, TEXT_PLAIN, "         and %zu more GPUs", p->gpu.n - GPUS_SAID);
}

struct sum {
	const char *name;
	double ms;
};

/* Sums idle time by cause. p->idle has one entry per cause, place and device. Returns the number of
 * causes. */
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
			sums[k].ms += isfinite(x->typical_ms) ? x->typical_ms : x->ms;
	}
	return n;
}

/* Returns the largest sum, and marks it as taken. */
static struct sum take_largest(struct sum *sums, size_t n)
{
	size_t largest = 0;
	for (size_t i = 1; i < n; i++)
		largest = sums[i].ms > sums[largest].ms ? i : largest;
	struct sum found = sums[largest];
	sums[largest].ms = -1;
	return found;
}

/* Prints idle time by cause, the largest first. */
static void say_idle(struct textout *o, const struct report_process *p)
{
	struct sum sums[32]; /* there are 20 causes */
	size_t n = sum_idle(p, sums, sizeof(sums) / sizeof(*sums)), used = 0;
	char text[TEXT_BYTES], ms[NUMBER_BYTES];
	for (size_t i = 0; i < n && i < CAUSES_SAID; i++) {
		struct sum x = take_largest(sums, n);
		if (x.ms < REPORT_LEAST_MS)
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s", i ? ", " : "",
					 report_cause_noun(x.name),
					 report_ms(ms, sizeof(ms), x.ms));
	}
	if (used && p->gpu.n > 1)
		text_say(o, "GPU idle ", "time by cause, sum over %zu GPUs: %s ms", p->gpu.n, text);
	else if (used)
		text_say(o, "GPU idle ", "time by cause: %s ms", text);
}

/* Prints the phases, the longest first. Sorts them again, because the longest phase of typical
 * steps may differ from the longest phase on average. */
static void say_phases(struct textout *o, const struct report_process *p)
{
	struct sum sums[32]; /* there are 20 causes */
	size_t n = 0;
	char line[TEXT_BYTES] = "", ms[NUMBER_BYTES];
	for (size_t i = 0; i < p->phases.n && n < sizeof(sums) / sizeof(*sums); i++) {
		const struct report_phase *x = &p->phases.at[i];
		sums[n++] = (struct sum){ x->name, isfinite(x->typical_host_ms) ? x->typical_host_ms
										: x->host_ms };
	}
	for (size_t i = 0; i < n; i++) {
		struct sum x = take_largest(sums, n);
		size_t used = strlen(line);
		if (x.ms >= REPORT_LEAST_MS)
			snprintf(line + used, sizeof(line) - used, "%s%s %s", used ? ", " : "",
				 x.name, report_ms(ms, sizeof(ms), x.ms));
	}
	if (*line)
		text_say(o, "phases   ", "%s ms", line);
}

/* ---- Memory ---- */

/* Writes an approximate time: "30 s", "11 min". Returns `to`. */
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

/* Keeps two significant digits of large values, because more would suggest a false precision. */
static double rounded(double value)
{
	double unit = value >= 100 ? pow(10, floor(log10(value)) - 1) : 1;
	return round(value / unit) * unit;
}

/* Prints the first lines that allocate memory that is not freed. */
static void say_leaks(struct textout *o, const struct report_memory *m, const char *cwd)
{
	char text[TEXT_BYTES], bytes[NUMBER_BYTES], place[PLACE_BYTES], fitted[TEXT_BYTES];
	size_t used = 0;
	for (size_t i = 0; i < m->leaks.n && i < LEAKS_SAID && used < sizeof(text); i++) {
		const struct report_block *x = &m->leaks.at[i];
		report_place_short(place, sizeof(place), &x->place, cwd);
		text_fit(fitted, sizeof(fitted), *x->what ? x->what : place, REPORT_PLACE_COLUMNS,
			 CUT_HEAD);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s (%s)",
					 i	    ? ", "
					 : *x->what ? "allocated "
						    : "allocated at ",
					 fitted, report_bytes(bytes, sizeof(bytes), x->bytes));
	}
	if (used)
		text_wrap(o, TEXT_PLAIN, REPORT_UNDER, text, 2);
}

static void say_growth(struct textout *o, const struct report_process *p, const char *cwd)
{
	const struct report_growth *g = p->memory.growth;
	char text[TEXT_BYTES], bytes[NUMBER_BYTES], time[NUMBER_BYTES];
	if (!g || p->failure) /* report_exit_say() prints it */
		return;
	bool is_known = isfinite(g->steps_left);
	double left_s = g->steps_left * report_step_ms(p) / 1e3;
	if (is_known ? left_s > GROWTH_LEFT_MOST_S : g->bytes_per_step < GROWTH_LEAST)
		return;
	size_t used = (size_t)snprintf(text, sizeof(text), "grows by %s per step",
				       report_bytes(bytes, sizeof(bytes), g->bytes_per_step));
	if (is_known && g->steps_left <= GROWTH_AHEAD_MOST * (double)p->facts.steps.count)
		snprintf(text + used, sizeof(text) - used,
			 ": the GPU's %s will be full after another %.0f steps (%s)",
			 report_bytes(bytes, sizeof(bytes), (double)g->device_bytes),
			 rounded(g->steps_left), about_long(time, sizeof(time), left_s));
	text_wrap(o, TEXT_RED, "memory   ", text, 2);
	say_leaks(o, &p->memory, cwd);
}

void report_figures_say(struct textout *o, const struct report_process *p, const char *cwd)
{
	say_gpus(o, p);
	say_idle(o, p);
	if (!o->terse)
		say_phases(o, p);
	say_growth(o, p, cwd);
}
