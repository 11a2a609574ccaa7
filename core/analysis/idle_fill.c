/* Fills the report's rows of idle time. See idle.h. */
#include "core/analysis/idle.h"

#include "core/analysis/summary.h"

static int by_time(const void *a, const void *b)
{
	const struct finding_idle *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* Returns true if the piece's line is a better one to show for the cause than the best line so far:
 * a user's line rather than any other line, otherwise the line with more idle time. */
static bool is_better(const struct findings *f, const struct idle_piece *p, uint64_t most_ns,
		      bool most_is_user)
{
	bool is_user = frames_site_at(f->timeline->frames, p->site)->is_user;
	return is_user != most_is_user ? is_user : p->ns > most_ns;
}

static void fill_causes(struct findings *f, const struct idle_sums *idle,
			const struct idle_device *d, double steps)
{
	for (int cause = 0; cause < IDLE_CAUSES_N; cause++) {
		struct finding_idle row = { .cause = (uint8_t)cause, .device = d->device };
		uint64_t most_ns = 0;
		bool is_user = false;
		for (size_t i = 0; i < idle->pieces.n; i++) {
			const struct idle_piece *p = &idle->pieces.at[i];
			if (p->device != d->device || p->cause != cause)
				continue;
			row.ns += p->ns;
			if (!p->site || !is_better(f, p, most_ns, is_user))
				continue;
			most_ns = p->ns;
			is_user = frames_site_at(f->timeline->frames, p->site)->is_user;
			row.site = p->site;
			row.before_site = p->before_site;
		}
		row.ms = (double)row.ns / 1e6 / steps;
		row.pct = d->span_ns ? 100.0 * (double)row.ns / (double)d->span_ns : 0;
		if (row.ns)
			vec_push(&f->idle, row);
	}
}

/*
 * Returns the time, in ns, of recorded work that ran after the end of its window. This happens if
 * the CPU runs far ahead of the GPU. If the step after the window was not recorded, this work is in
 * no step's busy time.
 */
static uint64_t late_ns(const struct timeline *t, uint32_t device)
{
	uint64_t sum_ns = 0;
	for (size_t i = 0, last = 0; i < t->steps.n; i++) {
		const struct timeline_step *step = &t->steps.at[i];
		for (last = last < i ? i : last;
		     last + 1 < t->steps.n && t->steps.at[last + 1].follows;)
			last++;
		uint64_t end_ns = t->steps.at[last].end_ns;
		for (size_t k = step->first_work; k < (size_t)step->first_work + step->n_work;
		     k++) {
			const struct timeline_work *w = &t->works.at[k];
			uint64_t from_ns = w->begin_ns > end_ns ? w->begin_ns : end_ns;
			if (w->device == device && w->end_ns > from_ns)
				sum_ns += w->end_ns - from_ns;
		}
	}
	return sum_ns;
}

void idle_fill(struct findings *f)
{
	const struct idle_sums *idle = &f->timeline->idle;
	for (size_t i = 0; i < idle->steps.n; i++)
		vec_push(&f->gpu_steps, idle->steps.at[i]);
	double steps = findings_count_steps(f->timeline).with_gpu;
	for (size_t i = 0; i < idle->devices.n; i++) {
		const struct idle_device *d = &idle->devices.at[i];
		struct finding_gpu gpu = {
			.device = d->device,
			.busy_ns = d->busy_ns,
			.idle_ns = d->idle_ns,
			.span_ns = d->span_ns,
			.busy_ms = (double)d->busy_ns / 1e6 / steps,
			.idle_ms = (double)d->idle_ns / 1e6 / steps,
			.before_ms = (double)d->before_ns / 1e6 / steps,
			.late_ms = (double)late_ns(f->timeline, d->device) / 1e6 / steps,
			.tensor_core_pct = -1,
		};
		if (d->span_ns)
			gpu.busy_pct = 100.0 * (double)d->busy_ns / (double)d->span_ns;
		vec_push(&f->gpus, gpu);
		fill_causes(f, idle, d, steps);
	}
	if (f->idle.n)
		qsort(f->idle.at, f->idle.n, sizeof(*f->idle.at), by_time);
}
