/* How long operators take until their GPU work begins, and in which order they launch work. */
#include "core/analysis/summary.h"

#include <math.h>

static int by_runs(const void *a, const void *b)
{
	const struct finding_delay *x = a, *y = b;
	if (x->per_step != y->per_step)
		return x->per_step > y->per_step ? -1 : 1;
	return strcmp(x->name, y->name);
}

void summary_fill_delays(struct findings *f)
{
	const struct timeline *t = f->timeline;
	double steps = findings_count_steps(t).with_gpu;
	for (size_t i = 0; i < t->runs.delays.n; i++) {
		const struct operator_delay *d = &t->runs.delays.at[i];
		double n = (double)d->n_runs;
		vec_push(&f->delays,
			 (struct finding_delay){
				 .name = strtab_text(&t->texts, d->name),
				 .per_step = n / steps,
				 .to_launch_us = d->n_begun == d->n_runs
							 ? (double)d->to_launch_ns / n / 1e3
							 : NAN,
				 .launch_to_work_us = (double)d->launch_to_work_ns / n / 1e3,
			 });
	}
	if (f->delays.n)
		qsort(f->delays.at, f->delays.n, sizeof(*f->delays.at), by_runs);
}

static int by_gpu_time(const void *a, const void *b)
{
	const struct finding_sequence *x = a, *y = b;
	if (x->gpu_ms != y->gpu_ms)
		return x->gpu_ms > y->gpu_ms ? -1 : 1;
	if (x->per_step != y->per_step)
		return x->per_step > y->per_step ? -1 : 1;
	int order = strcmp(x->operator, y->operator);
	return order ? order : (x->first_work > y->first_work) - (x->first_work < y->first_work);
}

void summary_fill_sequences(struct findings *f)
{
	const struct timeline *t = f->timeline;
	struct step_counts steps = findings_count_steps(t);
	uint64_t n_runs = t->runs.n_left_out;
	for (size_t i = 0; i < t->runs.sequences.n; i++) {
		const struct operator_sequence *s = &t->runs.sequences.at[i];
		n_runs += s->n_runs;
		vec_push(&f->sequences,
			 (struct finding_sequence){
				 .operator= strtab_text(&t->texts, s->name),
				 .first_work = s->first_work,
				 .n = s->n,
				 .per_step = (double)s->n_runs / steps.with_gpu,
				 .gpu_ms = (double)s->gpu_ns / 1e6 / steps.with_gpu,
				 .host_ms = (double)s->host_ns / 1e6 / steps.with_gpu,
			 });
	}
	if (f->sequences.n)
		qsort(f->sequences.at, f->sequences.n, sizeof(*f->sequences.at), by_gpu_time);
	if (t->runs.n_left_out)
		findings_unavailable(f, "kernel sequences",
				     "%llu of %llu runs of operators have sequences of their own; "
				     "only the first %zu sequences are listed",
				     (unsigned long long)t->runs.n_left_out,
				     (unsigned long long)n_runs, t->runs.sequences.n);
}
