/* Helpers for struct findings that all parts of the analysis use. */
#include "core/analysis/findings.h"

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
	vec_free(&f->lengths);
	vec_free(&f->pauses);
	vec_free(&f->evidence);
	vec_free(&f->between);
	vec_free(&f->savings);
	vec_free(&f->gpus);
	vec_free(&f->use);
	vec_free(&f->idle);
	vec_free(&f->gpu_steps);
	vec_free(&f->syncs);
	vec_free(&f->phases);
	vec_free(&f->operators);
	vec_free(&f->calls);
	vec_free(&f->launches);
	vec_free(&f->queues);
	vec_free(&f->critical_kinds);
	vec_free(&f->critical);
	vec_free(&f->delays);
	vec_free(&f->sequences);
	vec_free(&f->kernels);
	vec_free(&f->graphs);
	vec_free(&f->graph_steps);
	vec_free(&f->step_graphs);
	vec_free(&f->lines);
	vec_free(&f->host);
	vec_free(&f->modules);
	vec_free(&f->copies);
	vec_free(&f->shapes);
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

struct step_counts findings_count_steps(const struct timeline *t)
{
	struct step_counts n = { 0, 0 };
	for (size_t i = 0; i < t->steps.n; i++) {
		n.all++;
		n.with_gpu += t->steps.at[i].has_gpu;
	}
	return (struct step_counts){ n.all > 0 ? n.all : 1, n.with_gpu > 0 ? n.with_gpu : 1 };
}
