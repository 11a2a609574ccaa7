/* Fills all summaries, and reports which of their data is missing. */
#include "core/analysis/summary.h"

#include "core/analysis/idle.h"
#include "core/analysis/syncs.h"

/*
 * Says how many recorded steps have no GPU times, and whether the application's own profiler is the
 * reason.
 */
static void say_without_gpu(struct findings *f, const struct timeline *t, size_t without_gpu)
{
	const struct timeline_step *first = NULL, *last = NULL;
	char during[64] = "";
	for (size_t i = 0; i < t->steps.n; i++) {
		const struct timeline_step *step = &t->steps.at[i];
		if (step->has_gpu || !step->was_yielded)
			continue;
		first = first ? first : step;
		last = step;
	}
	if (first && first != last)
		snprintf(during, sizeof(during), "steps %llu to %llu",
			 (unsigned long long)first->number, (unsigned long long)last->number);
	else if (first)
		snprintf(during, sizeof(during), "step %llu", (unsigned long long)first->number);
	findings_unavailable(f, "GPU times",
			     "%zu of %zu recorded steps have no GPU times, or not all%s%s",
			     without_gpu, t->steps.n,
			     first ? ": the program's own profiler (such as torch.profiler) owned "
				     "CUPTI during "
				   : "",
			     during);
}

/* Notes which lines of the CPU time between calls are missing. */
static void note_samples(struct findings *f)
{
	const struct timeline *t = f->timeline;
	const char *setting = tables_fact(t->tables, "PROF_HOST");
	uint64_t without_stack = 0;
	for (size_t i = 0; i < t->host.at.n; i++)
		without_stack += t->host.at.at[i].stack ? 0 : t->host.at.at[i].n;
	if (t->steps.n && !t->host.n && setting && !strcmp(setting, "off"))
		findings_unavailable(f, "CPU time between calls",
				     "PROF_HOST=off: the launching threads were not sampled. Data "
				     "loading shows only at CUDA calls of a data loader");
	if (without_stack > t->host.n / 2)
		findings_unavailable(f, "lines of the CPU time between calls",
				     "%.0f %% of the samples are of threads without Python frames; "
				     "native code is not sampled",
				     100.0 * (double)without_stack / (double)t->host.n);
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
			f, "causes of idle time",
			"the causes found for GPU %u do not add up to its idle time (%llu ns busy, "
			"%llu ns idle, %llu ns in total)",
			wrong->device, (unsigned long long)wrong->busy_ns,
			(unsigned long long)wrong->idle_ns, (unsigned long long)wrong->span_ns);
	if (without_gpu)
		say_without_gpu(f, t, without_gpu);
	if (without_site > t->calls.n / 20)
		findings_unavailable(f, "lines of all calls",
				     "%.0f %% of the calls have no stack, so their lines are "
				     "unknown",
				     100.0 * (double)without_site / (double)t->calls.n);
	const char *diagnostic;
	for (size_t i = 0; t->frames && (diagnostic = frames_diagnostic(t->frames, i)); i++)
		findings_unavailable(f, "function names", "%s", diagnostic);
	if (t->n_cut)
		findings_unavailable(f, "steps",
				     "%llu recorded steps were left out: there are more than %d "
				     "million events",
				     (unsigned long long)t->n_cut, TIMELINE_EVENTS_MOST / 1000000);
}

void summary_fill(struct findings *f, struct timeline *t)
{
	f->timeline = t;
	idle_fill(f);
	syncs_fill(f, t->idle.of_call.at);
	summary_fill_use(f);
	summary_fill_multiprocessors(f);
	summary_fill_calls(f);
	summary_fill_launches(f);
	summary_fill_queues(f);
	summary_fill_kernels(f);
	summary_fill_copies(f);
	summary_fill_graphs(f);
	summary_fill_graph_steps(f);
	summary_fill_lines(f);
	summary_fill_operators(f);
	summary_fill_delays(f);
	summary_fill_sequences(f);
	summary_fill_modules(f);
	summary_fill_between(f);
	summary_fill_libraries(f);
	summary_fill_shapes(f);
	summary_fill_phases(f);
	note_gaps(f);
	note_samples(f);
}
