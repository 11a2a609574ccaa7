/* Fills the times of the phases of a step, on the CPU and on the devices. */
#include "core/analysis/program_kind.h"
#include "core/analysis/summary.h"

static int by_phase_time(const void *a, const void *b)
{
	const struct finding_phase *x = a, *y = b;
	if (x->host_ms != y->host_ms)
		return x->host_ms > y->host_ms ? -1 : 1;
	return x->gpu_ms > y->gpu_ms ? -1 : x->gpu_ms < y->gpu_ms;
}

static void add_part(struct finding_phase *to, const struct phase_sums *s, uint8_t part,
		     const struct step_counts *steps)
{
	double host_ms = (double)s->host_ns[part] / 1e6 / steps->all;
	double gpu_ms = (double)s->gpu_ns[part] / 1e6 / steps->with_gpu;
	double graph_gpu_ms = (double)s->graph_ns[part] / 1e6 / steps->with_gpu;
	to->host_ms += host_ms;
	to->gpu_ms += gpu_ms;
	to->graph_gpu_ms += graph_gpu_ms;
	if (!*phase_part_name(part) || (!s->host_ns[part] && !s->gpu_ns[part]))
		return;
	to->parts[to->n_parts++] =
		(struct finding_phase_part){ phase_part_name(part), host_ms, gpu_ms, graph_gpu_ms };
}

static void say_why_not(struct findings *f)
{
	struct program_kind kind = program_kind_of(f->timeline);
	const struct phase_sums *s = &f->timeline->phase_sums;
	const char *python = tables_fact(f->timeline->tables, "PROF_PYTHON"),
		   *stacks = tables_fact(f->timeline->tables, "PROF_STACKS");
	if (s->n_without_stack == s->n_calls)
		findings_unavailable(f, "phases",
				     "no call has a stack%s, and phases are derived from stacks",
				     stacks ? " (PROF_STACKS)" : "");
	else if (!kind.is_torch && !kind.is_python)
		return; /* no phases are expected */
	else if (!kind.is_torch)
		findings_unavailable(f, "phases",
				     "the program does not use PyTorch, whose phases profrun "
				     "recognizes");
	else
		findings_unavailable(f, "phases",
				     "no stack passes through PyTorch modules, autograd, "
				     "optimizers "
				     "or data loaders%s",
				     python && !strcmp(python, "off") ? " (PROF_PYTHON=off)" : "");
}

/* Reports how reliable the phases are, if phases were found. */
static void note_gaps(struct findings *f)
{
	const struct phase_sums *s = &f->timeline->phase_sums;
	if (!phase_sums_are_right(s))
		findings_unavailable(f, "consistent phases",
				     "the phases do not add up to the step time or to the GPU "
				     "time");
	if (s->n_guessed > s->n_calls / 20)
		findings_unavailable(f, "reliable phases",
				     "%.0f %% of the calls have no Python frames; those that "
				     "belong neither to the backward pass nor to an optimizer "
				     "count as forward",
				     100.0 * (double)s->n_guessed / (double)s->n_calls);
	if (s->n_without_stack > s->n_calls / 20)
		findings_unavailable(f, "phases of all calls",
				     "%.0f %% of the calls have no stack; they count as %s",
				     100.0 * (double)s->n_without_stack / (double)s->n_calls,
				     s->n_unresolved
					     ? "phase 'other', or as backward on autograd threads"
					     : "part of the phase that follows them");
}

void summary_fill_phases(struct findings *f)
{
	const struct phase_sums *s = &f->timeline->phase_sums;
	struct step_counts steps = findings_count_steps(f->timeline);
	struct finding_phase phases[PHASES_N] = { 0 };
	if (!s->has_phases) {
		say_why_not(f);
		return;
	}
	for (unsigned part = 0; part < PHASE_PARTS_N; part++)
		add_part(&phases[phase_of_part((uint8_t)part)], s, (uint8_t)part, &steps);
	for (int i = 0; i < PHASES_N; i++) {
		phases[i].name = phase_name((enum phase)i);
		if (phases[i].host_ms > 0 || phases[i].gpu_ms > 0)
			vec_push(&f->phases, phases[i]);
	}
	qsort(f->phases.at, f->phases.n, sizeof(*f->phases.at), by_phase_time);
	note_gaps(f);
}

void summary_fill_typical_phases(struct findings *f, const bool *is_typical)
{
	const struct timeline *t = f->timeline;
	double host_ms[PHASES_N] = { 0 }, steps = 0;
	for (size_t i = 0; i < t->phases_of_step.n; i++) {
		if (!is_typical[i])
			continue;
		steps++;
		for (unsigned part = 0; part < PHASE_PARTS_N; part++)
			host_ms[phase_of_part((uint8_t)part)] +=
				(double)t->phases_of_step.at[i].host_ns[part] / 1e6;
	}
	for (size_t i = 0; i < f->phases.n && steps > 0; i++)
		for (int phase = 0; phase < PHASES_N; phase++)
			if (f->phases.at[i].name == phase_name((enum phase)phase))
				f->phases.at[i].typical_host_ms = host_ms[phase] / steps;
}
