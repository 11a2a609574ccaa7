/* Fills the busy and idle times of typical steps. The verdict refers to typical steps, so the
 * report shows utilization and idle causes for the same steps. */
#include "core/analysis/idle.h"

static struct finding_gpu *gpu_of(struct findings *f, uint32_t device)
{
	for (size_t i = 0; i < f->gpus.n; i++)
		if (f->gpus.at[i].device == device)
			return &f->gpus.at[i];
	return NULL;
}

static void add_step(struct findings *f, const struct finding_gpu_step *s, double steps)
{
	struct finding_gpu *gpu = gpu_of(f, s->device);
	if (!gpu)
		return;
	gpu->typical_busy_ms += (double)s->busy_ns / 1e6 / steps;
	for (int cause = 0; cause < IDLE_CAUSES_N; cause++)
		gpu->typical_idle_ms += (double)s->idle_ns[cause] / 1e6 / steps;
	for (size_t i = 0; i < f->idle.n; i++) {
		struct finding_idle *row = &f->idle.at[i];
		if (row->device == s->device)
			row->typical_ms += (double)s->idle_ns[row->cause] / 1e6 / steps;
	}
}

static void add_kernels(struct findings *f, const struct timeline_step *step, double steps)
{
	const struct timeline_work *works = f->timeline->works.at;
	for (uint32_t i = step->first_work; i < step->first_work + step->n_work; i++) {
		struct finding_gpu *gpu = works[i].kind == WORK_KERNEL ? gpu_of(f, works[i].device)
								       : NULL;
		if (gpu)
			gpu->typical_kernels += 1 / steps;
	}
}

void idle_fill_typical(struct findings *f, const bool *is_typical)
{
	double steps = 0;
	for (size_t i = 0; i < f->timeline->steps.n; i++)
		steps += is_typical[i];
	for (size_t i = 0; i < f->timeline->steps.n; i++)
		if (is_typical[i])
			add_kernels(f, &f->timeline->steps.at[i], steps);
	for (size_t i = 0; i < f->gpu_steps.n && steps > 0; i++)
		if (is_typical[f->gpu_steps.at[i].step])
			add_step(f, &f->gpu_steps.at[i], steps);
}
