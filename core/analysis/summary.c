/* Fills all summaries, and reports what is missing in them. */
#include "core/analysis/summary.h"

#include "core/analysis/idle.h"
#include "core/analysis/syncs.h"

#include <stdarg.h>

void findings_unavailable(struct findings *f, const char *what, const char *why, ...)
{
	struct finding_gap gap;
	va_list args;
	snprintf(gap.what, sizeof(gap.what), "%s", what);
	va_start(args, why);
	vsnprintf(gap.why, sizeof(gap.why), why, args);
	va_end(args);
	vec_push(&f->unavailable, gap);
}

void findings_free(struct findings *f)
{
	vec_free(&f->evidence);
	vec_free(&f->gpus);
	vec_free(&f->idle);
	vec_free(&f->gpu_steps);
	vec_free(&f->syncs);
	vec_free(&f->phases);
	vec_free(&f->operators);
	vec_free(&f->kernels);
	vec_free(&f->lines);
	vec_free(&f->modules);
	vec_free(&f->copies);
	vec_free(&f->collectives);
	vec_free(&f->arrivals);
	vec_free(&f->once);
	vec_free(&f->at_peak);
	vec_free(&f->leaks);
	vec_free(&f->by_kind);
	vec_free(&f->by_phase);
	vec_free(&f->advice);
	vec_free(&f->unavailable);
}

struct summary_steps summary_count_steps(const struct timeline *t)
{
	struct summary_steps n = { 0, 0 };
	for (size_t i = 0; i < t->steps.n; i++) {
		n.all++;
		n.with_gpu += t->steps.at[i].has_gpu;
	}
	return (struct summary_steps){ n.all > 0 ? n.all : 1, n.with_gpu > 0 ? n.with_gpu : 1 };
}

static void note_gaps(struct findings *f)
{
	const struct timeline *t = f->timeline;
	const struct idle_device *wrong = idle_sums_find_wrong(&t->idle);
	size_t without_gpu = 0, without_site = 0;
	for (size_t i = 0; i < t->steps.n; i++)
		without_gpu += !t->steps.at[i].has_gpu;
	for (size_t i = 0; i < t->calls.n; i++)
		without_site += !t->calls.at[i].site;
	if (wrong)
		findings_unavailable(
			f, "idle",
			"the causes found for device %u do not sum up to its idle time "
			"(%llu ns busy, %llu ns idle, %llu ns in all)",
			wrong->device, (unsigned long long)wrong->busy_ns,
			(unsigned long long)wrong->idle_ns, (unsigned long long)wrong->span_ns);
	if (without_gpu)
		findings_unavailable(f, "gpu", "%zu of %zu armed steps have no GPU times",
				     without_gpu, t->steps.n);
	if (without_site > t->calls.n / 20)
		findings_unavailable(f, "lines", "no stack was taken for %.0f %% of the calls",
				     100.0 * (double)without_site / (double)t->calls.n);
	const char *diagnostic;
	for (size_t i = 0; t->frames && (diagnostic = frames_diagnostic(t->frames, i)); i++)
		findings_unavailable(f, "names of functions", "%s", diagnostic);
	if (t->n_cut)
		findings_unavailable(f, "steps",
				     "%llu armed steps were left out: more than %d million events",
				     (unsigned long long)t->n_cut, TIMELINE_EVENTS_MOST / 1000000);
}

void summary_fill(struct findings *f, struct timeline *t)
{
	f->timeline = t;
	idle_fill(f);
	syncs_fill(f, t->idle.of_call.at);
	summary_fill_kernels(f);
	summary_fill_copies(f);
	summary_fill_lines(f);
	summary_fill_operators(f);
	summary_fill_modules(f);
	summary_fill_libraries(f);
	summary_fill_phases(f);
	note_gaps(f);
}
